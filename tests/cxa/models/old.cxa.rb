cxa = Cxa.LAST
m = Muscle.LAST
m.add_classpath File.dirname(__FILE__) + '/classes'
m.add_libpath '/opt/lib'
cxa.env['max_timesteps'] = 4
cxa.env.merge!('default_dt' => 1)
cxa.add_kernel('w', 'muscle.core.standalone.NativeKernel')
cxa.add_kernel('r', 'muscle.core.standalone.NativeKernel')
cxa.get('w')['command'] = './w'
cxa.get('r')['command'] = './r'
cs = cxa.cs
cs.attach('w' => 'r') {
  tie('data', 'data', Conduit.new('muscle.core.conduit.AutomaticConduit',
      ['muscle.core.conduit.filter.MultiplyFilterDouble_0.5']))
  tie('more')
}
attach 'r' => 'w' do
  tie 'back', 'answer', ['my.own.Filter_3']
end
