dir = ENV['MUSCLE_HOME'] + '/share/examples'
java = Instance.new('java', 'examples.Sender')
matlab = MatlabInstance.new('matlab', "#{dir}/receiver.m", matlab: '/opt/matlab', matlab_args: '-nojvm')
python = PythonInstance.new('python', "#{dir}/kernel.py", python: 'python2', args: '-v 1')
loose = MPIInstance.new('loose', './loose', mpiexec: '/opt/mpich/bin/mpiexec', mpiexec_args: '--map-by core')
debugged = NativeInstance.new('debugged', './code', debugger: 'valgrind', 'level' => 2)
java.couple(matlab, 'data')
python.couple(python, 'out' => 'in')
