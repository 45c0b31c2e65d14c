"""The commands of MUSCLE 3, over Ligament."""

from libmuscle._conflict import refuse_muscle3

refuse_muscle3()
