/* Peterson's algorithm for N threads, for ever. What others do not see goes with the access before it. */
#define NEXT(k) (k + 1 == _pid -> k + 2 : k + 1)
byte level[N], last[N], inside

active [N] proctype worker() {
  byte l, k
  do
  :: atomic { l = 1; level[_pid] = 1 }
     do
     :: atomic { last[l] = _pid; k = (_pid == 0 -> 1 : 0) }
        do
        :: atomic { level[k] < l -> k = NEXT(k); if :: k >= N -> break :: else fi }
        :: level[k] >= l ->
           if
           :: atomic { last[l] != _pid -> k = NEXT(k); if :: k >= N -> break :: else fi }
           :: last[l] == _pid
           fi
        od
        if
        :: atomic { l + 1 < N -> l++; k = 0; level[_pid] = l }
        :: atomic { l + 1 >= N -> k = 0; l = 0; inside = _pid; break }
        fi
     od
     assert(inside == _pid)
     level[_pid] = 0
  od
}
