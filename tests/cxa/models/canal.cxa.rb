=begin
A canal of several reaches, a gate, and a table of what leaves it.
=end
abort "start this file with muscle2" if __FILE__ == $0

REACHES = 3
BIN = ENV['CANAL_BIN'] || './bin'
slow = false
dt = slow ? 60 : 0.5

# instances
reaches = []
for i in 1..REACHES
  reaches << NativeInstance.new("reach#{i}", "#{BIN}/reach", args: "--id #{i} $x")
end
gate = MPIInstance.new('gate', BIN + '/gate', mpiexec_args: '-np 4')
split = Instance.new('split', 'muscle.core.kernel.DuplicationMapper')
sink = Terminal.new('sink', 'muscle.core.conduit.terminal.NullSink')
log = Terminal.new(:log, 'muscle.core.conduit.terminal.PrintSink')

# couplings
(0...REACHES - 1).each do |i|
  reaches[i].couple(reaches[i + 1], { 'flow-out' => 'flow-in' })
end
reaches.last.couple gate, 'level', ['multiply_0.5', 'drop_2']
gate.couple(split, 'flow', ['multiply_2', 'compress'], ['decompress', 'blockafter_100'])
split.couple(sink, 'out1' => 'in')
split.couple(log, 'out2' => 'in')

# settings
$env['max_timesteps'] = "2 hours"
$env['default_dt'] = dt
$env['cells'] = 2 ** 4
$env['slopes'] = [1, 2.5e-3]
reaches.each_with_index { |reach, i| reach['dx'] = 10.0 * (i + 1) }
case REACHES
when 1, 2 then gate['mode'] = 'few'
else gate['mode'] = 'many'
end
gate['T'] = 3600 unless slow
gate['note'] = 'a "quoted" text'
