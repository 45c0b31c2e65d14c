! A reach: shallow water in a channel with a rectangular section. In each step, it sends its levels at both
! ends, and receives the flows through the structures there. It computes the flow in between itself.
program reach
   use ligament
   use, intrinsic :: iso_fortran_env, only: real64, error_unit
   implicit none

   real(real64), parameter :: GRAVITY = 9.81d0
   type :: inflow   ! the flow through a structure, until its next message
      real(real64) :: now = 0, until = -huge(1d0)
   end type
   type(ligament_instance) :: instance
   ! The state, which a checkpoint has, too.
   real(real64), allocatable :: level(:), flow(:), levels(:, :), flows(:, :)
   type(inflow), allocatable :: above(:), below(:), lateral(:)
   real(real64) :: balance(5, 1)
   integer :: done, frame   ! numbers of steps, and of frames that were not sent yet

   instance = ligament_instance([ &
      ligament_port(LIGAMENT_O_I, 'level_above'), ligament_port(LIGAMENT_O_I, 'level_below'), &
      ligament_port(LIGAMENT_O_I, 'gauge'), ligament_port(LIGAMENT_O_I, 'levels'), &
      ligament_port(LIGAMENT_O_I, 'discharges'), &
      ligament_port(LIGAMENT_S, 'above[]'), ligament_port(LIGAMENT_S, 'below[]'), &
      ligament_port(LIGAMENT_S, 'lateral[]'), &
      ligament_port(LIGAMENT_O_F, 'balance')], uses_checkpoint_api=.true.)
   do while (instance%reuse_instance())
      call simulate()
   end do
   call instance%free()

contains

   subroutine simulate()
      real(real64), allocatable :: bed(:)
      real(real64), allocatable :: next   ! time of the next message; not allocated if there is none
      real(real64) :: dt, dx, t_max, width, roughness, time, beside
      integer :: n, i, step, steps, per_gauge, per_frame, per_film

      t_max = setting('t_max')
      dt = setting('dt')
      dx = setting('dx')
      width = setting('width')
      roughness = setting('roughness')
      n = nint(setting('cells'))
      if (n < 1) call fail('cells must be 1 or more')
      steps = times_in('dt', 't_max')
      per_gauge = times_in('dt', 'gauge_interval')
      per_frame = times_in('dt', 'frame_interval')
      per_film = times_in('frame_interval', 'film_interval')

      bed = [(setting('bed_above') + (setting('bed_below') - setting('bed_above')) * (i - 0.5d0) / n, i = 1, n)]
      level = spread(setting('level'), 1, n)
      if (any(level <= bed)) &
         call fail('the reach is dry at the start: level must be above bed_above and bed_below')
      if (dt * sqrt(GRAVITY * maxval(level - bed)) > 0.7d0 * dx) &
         call fail('dt is too long a step for waves in water as deep as this; use at most ' // &
                   '0.7 dx / sqrt(9.81 depth)')
      allocate (flow(0:n), levels(n, per_film), flows(0:n, per_film))
      allocate (above(slots('above')), below(slots('below')), lateral(slots('lateral')))
      if (instance%resuming()) call load()
      if (instance%should_init()) call begin(width * dx * sum(level - bed))

      do step = done, steps - 1
         time = step * dt
         call when_due(next, time + dt, step + 1 < steps)
         call instance%send('level_above', time, level(1), next)
         call instance%send('level_below', time, level(n), next)
         if (mod(step, per_gauge) == 0) then
            call when_due(next, time + per_gauge * dt, step + per_gauge < steps)
            call instance%send('gauge', time, level(n), next)
         end if

         call advance(level, bed, flow(1:n - 1), width, roughness, dt, dx)
         flow(0) = total('above', above, time + dt / 2)
         flow(n) = total('below', below, time + dt / 2)
         beside = total('lateral', lateral, time + dt / 2)
         level = level + dt / (width * dx) * (flow(:n - 1) - flow(1:) + beside / n)
         balance(3:5, 1) = balance(3:5, 1) + dt * [flow(0), flow(n), beside]

         if (mod(step + 1, per_frame) == 0) then
            frame = frame + 1
            levels(:, frame) = level
            flows(:, frame) = flow
         end if
         if (frame == per_film .or. step + 1 == steps) then
            call when_due(next, min(time + dt + per_film * per_frame * dt, t_max), step + 1 < steps)
            call instance%send('levels', time + dt, levels(:, :frame), next)
            call instance%send('discharges', time + dt, flows(:, :frame), next)
            frame = 0
         end if
         done = step + 1
         if (instance%should_save_snapshot(time + dt)) then
            call save()
            call instance%save_snapshot(time + dt, done)
         end if
      end do
      balance(2, 1) = width * dx * sum(level - bed)
      call instance%send('balance', t_max, balance)
      if (instance%should_save_final_snapshot()) then
         call save()
         call instance%save_final_snapshot(t_max, done)
      end if
   end subroutine

   ! Sets the state at the start, except for the level. `held` is the volume of the water.
   subroutine begin(held)
      real(real64), intent(in) :: held
      flow = 0
      levels = 0
      flows = 0
      above = inflow()
      below = inflow()
      lateral = inflow()
      balance = 0
      balance(1, 1) = held
      done = 0
      frame = 0
   end subroutine

   ! Writes the state into a file of the checkpoint; its message has the number of steps.
   subroutine save()
      integer :: unit
      open (newunit=unit, file=instance%snapshot_directory() // '/state.bin', form='unformatted', &
            status='replace')
      write (unit) frame, level, flow, levels, flows, above, below, lateral, balance
      close (unit)
   end subroutine

   subroutine load()
      type(ligament_message) :: message
      integer :: unit
      open (newunit=unit, file=instance%snapshot_directory() // '/state.bin', form='unformatted', &
            status='old', action='read')
      read (unit) frame, level, flow, levels, flows, above, below, lateral, balance
      close (unit)
      call instance%load_snapshot(message)
      call message%get(done)
      call message%free()
   end subroutine

   ! Advances the flow through the faces between cells by a step: the local inertial equation, friction
   ! implicit.
   subroutine advance(level, bed, flow, width, roughness, dt, dx)
      real(real64), intent(in) :: level(:), bed(:), width, roughness, dt, dx
      real(real64), intent(inout) :: flow(:)
      real(real64), dimension(size(flow)) :: depth, area, radius, friction
      integer :: n
      n = size(level)
      depth = max(level(:n - 1), level(2:)) - max(bed(:n - 1), bed(2:))
      if (.not. all(depth > 0)) &
         call fail('the reach has run dry; let in more water, take out less, or use a shorter dt')
      area = width * depth
      radius = area / (width + 2 * depth)
      friction = GRAVITY * dt * roughness**2 * abs(flow) / (area * radius**(4d0 / 3))
      flow = (flow - GRAVITY * dt * area * (level(2:) - level(:n - 1)) / dx) / (1 + friction)
   end subroutine

   ! Returns the inflow through all slots of a port at a time. Receives on a slot when its last message is over.
   real(real64) function total(port, flows, time)
      character(len=*), intent(in) :: port
      type(inflow), intent(inout) :: flows(:)
      real(real64), intent(in) :: time
      integer :: slot
      total = 0
      do slot = 1, size(flows)
         if (time > flows(slot)%until) call instance%receive_into(port, flows(slot)%now, &
            next_timestamp=flows(slot)%until, slot=slot - 1)   ! slots count from 0
         total = total + flows(slot)%now
      end do
   end function

   real(real64) function setting(name)
      character(len=*), intent(in) :: name
      call instance%get_setting(name, setting)
   end function

   ! The number of slots of a vector port; 0 if nothing is connected to it.
   integer function slots(port)
      character(len=*), intent(in) :: port
      slots = 0
      if (instance%is_connected(port)) slots = instance%get_port_length(port)
   end function

   ! Gives the time of the next message, if there is one.
   subroutine when_due(next, time, more)
      real(real64), allocatable, intent(out) :: next
      real(real64), intent(in) :: time
      logical, intent(in) :: more
      if (more) next = time
   end subroutine

   ! Ends the whole run because of an error in this code.
   subroutine fail(why)
      character(len=*), intent(in) :: why
      call instance%error_shutdown(why)
      write (error_unit, '(a)') why
      stop 1
   end subroutine

   ! Returns how many times a setting `part` fits into the setting `name`, which must be a multiple of it.
   integer function times_in(part, name)
      character(len=*), intent(in) :: part, name
      real(real64) :: ratio
      ratio = setting(name) / setting(part)
      times_in = nint(ratio)
      if (times_in < 1 .or. abs(times_in - ratio) > 1d-6) call fail(name // ' must be a multiple of ' // part)
   end function
end program
