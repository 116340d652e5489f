/* Anderson's array lock, N threads, ROUNDS rounds each. Everything begins with 0, so that the first slot is negated. */
#define MAY_ENTER(slot) ((slot == 0) != may_not[slot])
bit may_not[N]
byte tail, inside

active [N] proctype worker() {
  byte round, slot
end:
  do
  :: atomic { round < ROUNDS -> slot = tail % N; tail++ }
     MAY_ENTER(slot)
     may_not[slot] = (slot == 0)
     inside = _pid
     assert(inside == _pid)
     atomic { slot = (slot + 1) % N; may_not[slot] = (slot != 0); slot = 0; round++ }
  od
}
