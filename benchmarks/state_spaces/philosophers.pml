/* N philosophers, who eat for ever. One of them takes the other fork first. */
bit forks[N]

active [N] proctype philosopher() {
  byte left = (_pid == 0 -> 1 : _pid)
  byte right = (_pid == 0 -> 0 : (_pid + 1) % N)
  do
  :: atomic { !forks[left] -> forks[left] = 1 }
     atomic { !forks[right] -> forks[right] = 1 }
     forks[right] = 0
     forks[left] = 0
  od
}
