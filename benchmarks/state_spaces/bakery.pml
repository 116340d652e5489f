/* Lamport's bakery, N threads, ROUNDS rounds each. What others do not see goes with the access before it. */
#define NEXT(k) (k + 1 == _pid -> k + 2 : k + 1)
byte choosing[N], number[N], inside

active [N] proctype worker() {
  byte round, most, k
end:
  do
  :: atomic { round < ROUNDS -> choosing[_pid] = 1 }
     do
     :: atomic { k < N -> most = (number[k] > most -> number[k] : most); k++ }
     :: atomic { k >= N -> number[_pid] = most + 1; break }
     od
     atomic { choosing[_pid] = 0; k = (_pid == 0 -> 1 : 0) }
     do
     :: k < N && !choosing[k] ->
        atomic {
          number[k] == 0 || number[k] > most + 1 || (number[k] == most + 1 && k > _pid) -> k = NEXT(k)
        }
     :: atomic { k >= N -> k = 0; most = 0; inside = _pid; break }
     od
     assert(inside == _pid)
     atomic { number[_pid] = 0; round++ }
  od
}
