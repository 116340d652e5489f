/* The abstract machine: accesses that are delayed, and the conditions under which they are performed.

   DK_READS        reads are delayed, too (RMO, POWER); otherwise only writes are (TSO, PSO)
   DK_NON_ATOMIC   a delayed write can be seen by some threads before it is by all (POWER)
   DK_WRITES_IN_ORDER  writes of a thread are performed in order (TSO)

   A delayed access has a slot. Thread t has the slots from t * DK_OWN on; the first DK_OWN_READS of them are for reads.
   A set of slots is a mask. Slots of reads are used once, because registers remember them. Between dk_begin and dk_end
   no other thread takes a step; dk_begin lets others take some first, dk_resume does not, and dk_pause is a dk_end after
   which none has to. */

typedef unsigned long long dk_word;

#define DK_BIT(slot) (1ULL << (slot))
#define DK_OWN_SLOTS(self) (DK_OWN_BITS << ((self) * DK_OWN))
#define DK_READ_SLOTS(self) (DK_READ_BITS << ((self) * DK_OWN))
#define DK_NOWHERE DK_SLOTS /* as a source: memory; as a place: in front of all; as a slot: none */

enum { DK_RR = 1, DK_RW = 2, DK_WR = 4, DK_WW = 8, DK_FULL = 15 };

dk_word dk_started; /* threads that were started */
dk_word dk_left;    /* threads from the start that have come to an end */
dk_word dk_pending;          /* the delayed accesses that were not performed yet */
dk_word dk_address[DK_SLOT_COUNT]; /* of a delayed access: where, */
dk_word dk_size[DK_SLOT_COUNT];    /* how many bytes, */
dk_word dk_value[DK_SLOT_COUNT];   /* what a write writes, or what a read is bound to return, */
dk_word dk_before[DK_SLOT_COUNT];  /* and the delayed accesses that must be performed before it */
dk_word dk_elder[DK_SLOT_COUNT];   /* those of its thread that were delayed before it */
dk_word dk_overtaken;              /* those that were delayed for a reason: what comes later has taken effect */
dk_word dk_behind[DK_SLOT_COUNT];  /* of a delayed write: those to the same address that come before it in coherence */
dk_word dk_ahead_of_reads[DK_THREAD_COUNT];  /* delayed accesses that a fence keeps before the reads to come */
dk_word dk_ahead_of_writes[DK_THREAD_COUNT]; /* and before the writes to come */

#ifdef DK_READS
dk_word dk_bound;                  /* delayed reads of which it is decided what they return */
dk_word dk_used_reads[DK_THREAD_COUNT]; /* slots of reads that are used up */
dk_word dk_needs[DK_SLOT_COUNT];   /* of a delayed write: delayed reads that its address or value depends on */
dk_word dk_floor[DK_SLOT_COUNT];   /* of a delayed read: delayed writes; it takes one of them, or a later one */
dk_word dk_ceiling[DK_SLOT_COUNT]; /* delayed writes; it takes an earlier one */
dk_word dk_cap[DK_SLOT_COUNT];     /* delayed writes; it takes one of them, or an earlier one */
dk_word dk_earlier[DK_SLOT_COUNT]; /* delayed reads of the same address and thread before it */
dk_word dk_capped;            /* delayed reads that take what is in memory now, or never come to an end */
dk_word dk_seen[DK_THREAD_COUNT];  /* delayed writes that come before all writes to come, per address */
#else
#define dk_seen dk_own_writes
dk_word dk_own_writes[DK_THREAD_COUNT];
#endif

#ifdef DK_NON_ATOMIC
dk_word dk_met[DK_THREAD_COUNT];      /* delayed writes of others that reads of the thread have taken */
dk_word dk_fenced[DK_SLOT_COUNT];     /* accesses that a fence keeps before it; for reads, only a strong one */
dk_word dk_strongly[DK_THREAD_COUNT]; /* delayed accesses in front of a strong fence */
dk_word dk_grounds[DK_SLOT_COUNT];    /* delayed reads that decide about it: values do not come out of thin air */
dk_word dk_kept;                 /* slots of performed writes that still have grounds */
dk_word dk_last_grounds[DK_THREAD_COUNT];
dk_word dk_last_source[DK_THREAD_COUNT]; /* of the last read that was performed at once: what it took */
dk_word dk_link[DK_THREAD_COUNT];        /* the address of a load-linked that waits for its store-conditional, */
dk_word dk_link_read[DK_THREAD_COUNT];   /* its slot plus 1 while it is delayed, */
dk_word dk_link_source[DK_THREAD_COUNT]; /* then what it took; DK_LOST if another thread has written since */
dk_word dk_updates;                      /* delayed writes of updates whose read was performed, */
dk_word dk_source[DK_SLOT_COUNT];        /* and what that has taken; */
dk_word dk_partner[DK_SLOT_COUNT];       /* before that, the slot of the read plus 1 */
#define DK_LOST (DK_SLOTS + 1)
#endif

/* One of a set, or DK_NOWHERE. */
dk_word dk_choose_slot_or_none(dk_word set) {
  dk_word slot = 0;
  while (set >> slot) {
    if ((set >> slot & 1) && dk_choose_yes()) return slot;
    ++slot;
  }
  return DK_NOWHERE;
}

/* Memory itself. */

dk_word dk_fetch(dk_word address, dk_word size) {
  switch (size) {
    case 1: return *(volatile unsigned char *)(dk_pointer)address;
    case 2: return *(volatile unsigned short *)(dk_pointer)address;
    case 4: return *(volatile unsigned *)(dk_pointer)address;
    default: return *(volatile dk_word *)(dk_pointer)address;
  }
}

void dk_put(dk_word address, dk_word size, dk_word value) {
  switch (size) {
    case 1: *(volatile unsigned char *)(dk_pointer)address = (unsigned char)value; break;
    case 2: *(volatile unsigned short *)(dk_pointer)address = (unsigned short)value; break;
    case 4: *(volatile unsigned *)(dk_pointer)address = (unsigned)value; break;
    default: *(volatile dk_word *)(dk_pointer)address = value; break;
  }
}

/* The delayed accesses to an address. */
dk_word dk_at(dk_word address, dk_word size) {
  dk_word found = 0, pending = dk_pending;
  for (dk_word i = 0; pending >> i; ++i) {
    if (!(pending >> i & 1)) continue;
    if (dk_address[i] == address && dk_size[i] == size)
      found |= DK_BIT(i);
    else if (dk_address[i] < address + size && address < dk_address[i] + dk_size[i])
      dk_mixed_sizes();
  }
  return found;
}

void dk_enter(dk_word self, dk_word slot, dk_word address, dk_word size, dk_word value, dk_word before) {
  dk_elder[slot] = dk_pending & DK_OWN_SLOTS(self);
  dk_pending |= DK_BIT(slot);
  dk_address[slot] = address;
  dk_size[slot] = size;
  dk_value[slot] = value;
  dk_before[slot] = before;
}

void dk_forget(dk_word slot) {
  dk_address[slot] = 0;
  dk_size[slot] = 0;
  dk_value[slot] = 0;
}

dk_word dk_write_slot(dk_word self) {
  dk_word taken = dk_pending;
#ifdef DK_NON_ATOMIC
  taken |= dk_kept;
#endif
  dk_word slot = self * DK_OWN + DK_OWN_READS;
  while (slot < (self + 1) * DK_OWN && taken >> slot & 1) ++slot;
  return slot < (self + 1) * DK_OWN ? slot : DK_NOWHERE;
}

#ifdef DK_NON_ATOMIC
/* Grounds. Reads that were performed stand for the grounds of what they took. */

dk_word dk_resolve(dk_word grounds) {
  dk_word found = grounds & dk_pending, performed = grounds & ~dk_pending;
  for (dk_word i = 0; performed >> i; ++i)
    if (performed >> i & 1) found |= dk_grounds[i];
  return found;
}

void dk_replace_ground(dk_word read, dk_word by) {
  for (dk_word i = 0; i < DK_SLOTS; ++i) {
    if (dk_grounds[i] >> read & 1) dk_grounds[i] = (dk_grounds[i] & ~DK_BIT(read)) | by;
    if ((dk_kept >> i & 1) && !dk_grounds[i]) {
      dk_kept &= ~DK_BIT(i);
      dk_forget(i);
    }
  }
}

dk_word dk_kept_at(dk_word address) {
  for (dk_word i = 0; dk_kept >> i; ++i)
    if ((dk_kept >> i & 1) && dk_address[i] == address) return i;
  return DK_NOWHERE;
}

/* What is in memory now has these grounds; `slot` held the write, if it was delayed. */
void dk_keep_grounds(dk_word self, dk_word slot, dk_word address, dk_word grounds) {
  dk_word old = dk_kept_at(address);
  if (old < DK_SLOTS) {
    dk_kept &= ~DK_BIT(old);
    dk_grounds[old] = 0;
    dk_forget(old);
  }
  if (!grounds) {
    if (slot < DK_SLOTS) dk_grounds[slot] = 0;
    return;
  }
  if (slot == DK_NOWHERE) slot = dk_write_slot(self);
  if (slot == DK_NOWHERE) {
    dk_full();
    __VERIFIER_assume(0);
  }
  dk_kept |= DK_BIT(slot);
  dk_address[slot] = address;
  dk_grounds[slot] = grounds;
}
#endif

/* A delayed access was performed. */
void dk_remove(dk_word slot) {
  dk_word others = ~DK_BIT(slot), pending = dk_pending & others;
  dk_pending = pending;
  dk_forget(slot);
  dk_before[slot] = 0;
  dk_behind[slot] = 0;
  dk_elder[slot] = 0;
  dk_overtaken &= others;
  for (dk_word i = 0; pending >> i; ++i) { /* what is not delayed has nothing to forget */
    if (!(pending >> i & 1)) continue;
    dk_before[i] &= others;
    dk_behind[i] &= others;
    dk_elder[i] &= others;
#ifdef DK_READS
    if (dk_cap[i] >> slot & 1) dk_capped |= DK_BIT(i);
    dk_needs[i] &= others;
    dk_floor[i] &= others;
    dk_ceiling[i] &= others;
    dk_cap[i] &= others;
    dk_earlier[i] &= others;
#endif
#ifdef DK_NON_ATOMIC
    dk_fenced[i] &= others;
    if ((dk_updates >> i & 1) && dk_source[i] == slot) dk_source[i] = DK_NOWHERE;
#endif
  }
  for (dk_word t = 0; t < DK_THREADS; ++t) {
    dk_ahead_of_reads[t] &= others;
    dk_ahead_of_writes[t] &= others;
    dk_seen[t] &= others;
#ifdef DK_NON_ATOMIC
    dk_met[t] &= others;
    dk_strongly[t] &= others;
    if (dk_link[t] && dk_link_source[t] == slot) dk_link_source[t] = DK_NOWHERE;
#endif
  }
#ifdef DK_READS
  dk_capped &= others;
  dk_bound &= others;
  dk_needs[slot] = 0;
  dk_floor[slot] = 0;
  dk_ceiling[slot] = 0;
  dk_cap[slot] = 0;
  dk_earlier[slot] = 0;
#endif
#ifdef DK_NON_ATOMIC
  dk_fenced[slot] = 0;
  dk_updates &= others;
  dk_source[slot] = 0;
  dk_partner[slot] = 0;
#endif
}

#ifdef DK_NON_ATOMIC
/* Nothing of another thread stands between what an update has read and what it writes. */
int dk_is_atomic(dk_word slot) {
  dk_word between = dk_behind[slot];
  if (dk_source[slot] < DK_SLOTS) between &= ~(dk_behind[dk_source[slot]] | DK_BIT(dk_source[slot]));
  return !(between & ~DK_OWN_SLOTS(slot / DK_OWN));
}

/* A delayed read was performed: if it is that of an update, the write knows now what it must come after. */
void dk_tie(dk_word self, dk_word slot, dk_word source) {
  if (dk_link_read[self] == slot + 1) {
    dk_link_read[self] = 0;
    dk_link_source[self] = source;
  }
  for (dk_word i = self * DK_OWN + DK_OWN_READS; i < (self + 1) * DK_OWN; ++i)
    if (dk_partner[i] == slot + 1) {
      dk_partner[i] = 0;
      dk_updates |= DK_BIT(i);
      dk_source[i] = source;
      __VERIFIER_assume(dk_is_atomic(i));
    }
}

/* Another thread writes to memory. */
void dk_break_links(dk_word self, dk_word address) {
  for (dk_word t = 0; t < DK_THREADS; ++t)
    if (t != self && dk_link[t] == address && !dk_link_read[t] && dk_link_source[t] == DK_NOWHERE)
      dk_link_source[t] = DK_LOST;
}
#endif

/* Reads. */

#ifdef DK_NON_ATOMIC
/* What a fence keeps behind the read stays behind the write that it took from another thread. */
void dk_meet(dk_word self, dk_word slot, dk_word write) {
  dk_met[self] |= write;
  if (slot == DK_NOWHERE) return;
  for (dk_word i = self * DK_OWN; i < (self + 1) * DK_OWN; ++i)
    if (dk_fenced[i] >> slot & 1) {
      dk_before[i] |= write;
      if (i >= self * DK_OWN + DK_OWN_READS) dk_fenced[i] |= write;
    }
  if (dk_ahead_of_writes[self] >> slot & 1) dk_ahead_of_writes[self] |= write;
  if (dk_strongly[self] >> slot & 1) dk_ahead_of_reads[self] |= write;
}
#endif

#ifdef DK_READS
/* Whether a read may take a delayed write, as far as the address itself is concerned. */
int dk_fits(dk_word source, dk_word floor, dk_word ceiling, dk_word cap) {
  dk_word write = DK_BIT(source);
  if (floor & ~(write | dk_behind[source])) return 0;
  for (dk_word i = 0; (ceiling | cap) >> i; ++i) {
    if ((ceiling >> i & 1) && !(dk_behind[i] & write)) return 0;
    if ((cap >> i & 1) && i != source && !(dk_behind[i] & write)) return 0;
  }
  return 1;
}

/* Reads of the same thread and address stay in order. */
void dk_keep_reads_in_order(dk_word self, dk_word slot, dk_word source, dk_word earlier) {
  if (source == DK_NOWHERE) {
    dk_capped |= earlier;
    return;
  }
  dk_word write = DK_BIT(source);
  for (dk_word i = 0; dk_pending >> i; ++i) {
    if (earlier >> i & 1) dk_cap[i] |= write;
    if (slot < DK_SLOTS && (dk_earlier[i] >> slot & 1)) dk_floor[i] |= write;
  }
  dk_seen[self] |= write;
}
#endif

/* The value that a read takes from a delayed write, or from memory. */
dk_word dk_take(dk_word self, dk_word slot, dk_word address, dk_word size, dk_word source, dk_word floor) {
  if (source == DK_NOWHERE) {
    __VERIFIER_assume(!floor);
    return dk_fetch(address, size);
  }
#ifdef DK_READS
  __VERIFIER_assume(!dk_needs[source]);
#endif
#ifdef DK_NON_ATOMIC
  if (!(DK_OWN_SLOTS(self) >> source & 1)) {
    __VERIFIER_assume(!dk_fenced[source]);
    dk_overtaken |= DK_BIT(source) | dk_elder[source];
    dk_meet(self, slot, DK_BIT(source));
  }
#else
  (void)self;
  (void)slot;
#endif
  return dk_value[source];
}

/* The delayed write that a read takes, or memory. */
dk_word dk_choose_source(dk_word self, dk_word at, dk_word floor) {
#ifdef DK_NON_ATOMIC
  (void)self;
  (void)floor;
  return dk_choose_slot_or_none(at & ~DK_ALL_READS);
#else
  (void)at;
  if (!floor) return DK_NOWHERE;
  for (dk_word i = self * DK_OWN + DK_OWN_READS; i < (self + 1) * DK_OWN; ++i)
    if ((floor >> i & 1) && !(floor & ~DK_BIT(i) & ~dk_behind[i])) return i;
  return DK_NOWHERE;
#endif
}

#ifdef DK_READS
void dk_perform_read(dk_word slot) {
  dk_word self = slot / DK_OWN, address = dk_address[slot], size = dk_size[slot], floor = dk_floor[slot];
  dk_word source = dk_choose_source(self, dk_at(address, size), floor);
  if (source != DK_NOWHERE) {
    __VERIFIER_assume(!(dk_capped >> slot & 1));
    __VERIFIER_assume(dk_fits(source, floor, dk_ceiling[slot], dk_cap[slot]));
  }
#ifdef DK_NON_ATOMIC
  dk_word from = source == DK_NOWHERE ? dk_kept_at(address) : source;
  dk_word grounds = from < DK_SLOTS ? dk_grounds[from] : 0;
  __VERIFIER_assume(!(grounds >> slot & 1));
  for (dk_word i = 0; grounds >> i; ++i)
    __VERIFIER_assume(!(grounds >> i & 1) || !(dk_grounds[i] >> slot & 1));
  grounds |= dk_grounds[slot];
#endif
  dk_word value = dk_take(self, slot, address, size, source, floor);
  dk_word is_bound = dk_bound >> slot & 1;
  __VERIFIER_assume(!is_bound || dk_frozen(value) == dk_value[slot]);
  dk_keep_reads_in_order(self, slot, source, dk_earlier[slot]);
#ifdef DK_NON_ATOMIC
  dk_tie(self, slot, source);
#endif
  dk_remove(slot);
  if (!is_bound) dk_value[slot] = value;
#ifdef DK_NON_ATOMIC
  dk_grounds[slot] = grounds;
  dk_replace_ground(slot, grounds);
#endif
}
#endif

/* Writes. */

void dk_change_memory(dk_word address, dk_word size, dk_word value) {
#ifdef DK_READS
  __VERIFIER_assume(!(dk_at(address, size) & dk_capped));
#endif
  dk_put(address, size, value);
}

void dk_perform_write(dk_word slot) {
  dk_change_memory(dk_address[slot], dk_size[slot], dk_value[slot]);
#ifdef DK_NON_ATOMIC
  dk_word address = dk_address[slot], grounds = dk_grounds[slot];
  dk_break_links(slot / DK_OWN, address);
#endif
  dk_remove(slot);
#ifdef DK_NON_ATOMIC
  dk_keep_grounds(slot / DK_OWN, slot, address, grounds);
#endif
}

/* Those of a set that can be performed now. If nothing has overtaken an access, the run in which it was not delayed does
   the same. */
dk_word dk_ready(dk_word set) {
  dk_word ready = set & dk_pending & dk_overtaken;
  for (dk_word i = 0; ready >> i; ++i)
    if ((ready >> i & 1) && (dk_before[i] | dk_behind[i])) ready &= ~DK_BIT(i);
  return ready;
}

void dk_perform(dk_word slot) {
  dk_overtaken |= dk_elder[slot];
#ifdef DK_READS
  if (DK_ALL_READS >> slot & 1) {
    dk_perform_read(slot);
    return;
  }
#endif
  dk_perform_write(slot);
}

/* What has to be performed before an access; `needs` are reads that it depends on. */
dk_word dk_ahead_of_write(dk_word self, dk_word at, dk_word needs) {
  dk_word before = dk_ahead_of_writes[self] | (needs & dk_pending) | (at & DK_READ_SLOTS(self));
#ifdef DK_WRITES_IN_ORDER
  before |= dk_pending & DK_OWN_SLOTS(self);
#endif
  return before;
}

void dk_place(dk_word self, dk_word slot, dk_word at) {
  dk_word writes = at & ~DK_ALL_READS;
#ifdef DK_NON_ATOMIC
  if (writes) {
    dk_word place = dk_choose_slot_or_none(writes);
    if (place != DK_NOWHERE) dk_behind[slot] = dk_behind[place] | DK_BIT(place);
    for (dk_word i = 0; writes >> i; ++i)
      if ((writes & ~dk_behind[slot]) >> i & 1) dk_behind[i] |= DK_BIT(slot);
  }
  __VERIFIER_assume(!(dk_seen[self] & writes & ~dk_behind[slot]));
  dk_word updates = writes & dk_updates;
  for (dk_word i = 0; updates >> i; ++i)
    if (updates >> i & 1) __VERIFIER_assume(dk_is_atomic(i));
#else
  dk_behind[slot] = writes & DK_OWN_SLOTS(self);
#endif
}

/* The interface. `needs` are reads that the address or the value depends on, `decided` those that decide whether there is
   an access at all, `grounds` all that has a part in it. */

/* The delayed accesses that must be performed before those of a set, or make a difference to them. */
dk_word dk_relevant(dk_word wanted) {
  dk_word found = wanted & dk_pending;
  dk_word known = 0;
  while (found != known) {
    known = found;
    for (dk_word i = 0; known >> i; ++i)
      if (known >> i & 1) found |= dk_before[i] | dk_behind[i] | dk_at(dk_address[i], dk_size[i]);
  }
  return found;
}

/* Performs delayed accesses, as many as it likes of those that make a difference to an access to this address and to
   those of a set. Returns within a section. */
void dk_approach(dk_word address, dk_word size, dk_word wanted) {
  dk_begin();
  while (1) {
    dk_word slot = dk_choose_slot_or_none(dk_ready(dk_relevant(wanted | dk_at(address, size))));
    if (slot == DK_NOWHERE) return;
    dk_perform(slot);
    dk_end();
    dk_begin();
  }
}

#ifdef DK_READS
/* Returns the slot, or DK_NOWHERE if there is none. */
dk_word dk_read_later(dk_word self, dk_word address, dk_word size, dk_word needs, dk_word grounds) {
  dk_resume();
  if (dk_used_reads[self] == DK_OWN_READS) {
    dk_full();
    dk_pause();
    return DK_NOWHERE;
  }
  dk_word slot = self * DK_OWN + dk_used_reads[self];
  ++dk_used_reads[self];
  dk_word at = dk_at(address, size);
  dk_enter(self, slot, address, size, 0, dk_ahead_of_reads[self] | (needs & dk_pending));
  dk_floor[slot] = at & dk_seen[self];
  dk_earlier[slot] = at & DK_READ_SLOTS(self);
#ifdef DK_NON_ATOMIC
  dk_fenced[slot] = dk_strongly[self];
  dk_grounds[slot] = dk_resolve(grounds);
#else
  (void)grounds;
#endif
  dk_pause();
  return slot;
}
#endif

#ifdef DK_READS
/* Whether a read is still delayed. Returns within a section. */
dk_word dk_is_open(dk_word slot) {
  dk_resume();
  return dk_pending >> slot & 1;
}

/* What a delayed read that was performed returned. */
dk_word dk_result(dk_word slot) {
  dk_word value = dk_value[slot];
  dk_value[slot] = 0;
  return value;
}

/* From now on a delayed read is one that returns this value. */
void dk_bind(dk_word slot, dk_word value) {
  dk_value[slot] = value;
  dk_bound |= DK_BIT(slot);
}

/* The value of a delayed read that nothing was done with. */
dk_word dk_wait_for_read(dk_word slot) {
  dk_approach(0, 0, DK_BIT(slot));
  __VERIFIER_assume(!(dk_pending >> slot & 1));
  dk_word value = dk_result(slot);
  dk_pause();
  return value;
}
#endif

dk_word dk_read(dk_word self, dk_word address, dk_word size, dk_word needs, dk_word grounds) {
  dk_approach(address, size, DK_OWN_SLOTS(self));
  dk_word at = dk_at(address, size);
  __VERIFIER_assume(!(dk_ahead_of_reads[self] | (needs & dk_pending)));
  dk_word floor = at & dk_seen[self];
  dk_word source = dk_choose_source(self, at, floor);
#ifdef DK_READS
  if (source != DK_NOWHERE) __VERIFIER_assume(dk_fits(source, floor, 0, 0));
#endif
#ifdef DK_NON_ATOMIC
  dk_word from = source == DK_NOWHERE ? dk_kept_at(address) : source;
  dk_last_source[self] = source;
  dk_last_grounds[self] = dk_resolve(grounds) | (from < DK_SLOTS ? dk_grounds[from] : 0);
#else
  (void)grounds;
#endif
  dk_overtaken |= dk_pending & DK_OWN_SLOTS(self);
  dk_word value = dk_take(self, DK_NOWHERE, address, size, source, floor);
#ifdef DK_READS
  dk_keep_reads_in_order(self, DK_NOWHERE, source, at & DK_READ_SLOTS(self));
#endif
  dk_pause();
  return value;
}

int dk_write_later(dk_word self, dk_word address, dk_word size, dk_word value, dk_word needs, dk_word decided,
                          dk_word grounds, int linked) {
  dk_resume();
  dk_word slot = dk_write_slot(self);
  if (slot == DK_NOWHERE) {
    dk_full();
    dk_pause();
    return 0;
  }
  dk_word at = dk_at(address, size);
  dk_enter(self, slot, address, size, value, dk_ahead_of_write(self, at, needs | decided));
  dk_place(self, slot, at);
  dk_seen[self] |= DK_BIT(slot);
#ifdef DK_READS
  dk_needs[slot] = needs & dk_pending;
  for (dk_word i = self * DK_OWN; i < self * DK_OWN + DK_OWN_READS; ++i)
    if (at >> i & 1) dk_ceiling[i] |= DK_BIT(slot);
#endif
#ifdef DK_NON_ATOMIC
  dk_fenced[slot] = dk_ahead_of_writes[self];
  dk_grounds[slot] = dk_resolve(grounds);
  if (linked && dk_link_read[self]) {
    dk_partner[slot] = dk_link_read[self];
  } else if (linked) {
    dk_updates |= DK_BIT(slot);
    dk_source[slot] = dk_link_source[self];
    __VERIFIER_assume(dk_source[slot] != DK_LOST && dk_is_atomic(slot));
  }
#else
  (void)grounds;
  (void)linked;
#endif
  dk_pause();
  return 1;
}

/* `linked`: the write of an update, or a store-conditional that succeeds. */
void dk_write_now(dk_word self, dk_word address, dk_word size, dk_word value, dk_word needs, dk_word decided,
                  dk_word grounds, int linked) {
  dk_approach(address, size, DK_OWN_SLOTS(self));
  dk_word at = dk_at(address, size);
  __VERIFIER_assume(!dk_ahead_of_write(self, at, needs | decided));
  __VERIFIER_assume(!(dk_seen[self] & at));
  dk_overtaken |= dk_pending & DK_OWN_SLOTS(self);
#ifdef DK_NON_ATOMIC
  if (linked) __VERIFIER_assume(!dk_link_read[self] && dk_link_source[self] == DK_NOWHERE);
  dk_word updates = at & dk_updates & ~DK_OWN_SLOTS(self);
  for (dk_word i = 0; updates >> i; ++i)
    if (updates >> i & 1) __VERIFIER_assume(dk_source[i] < DK_SLOTS);
  dk_break_links(self, address);
#endif
  dk_change_memory(address, size, value);
#ifdef DK_NON_ATOMIC
  dk_keep_grounds(self, DK_NOWHERE, address, dk_resolve(grounds));
#endif
#if !defined(DK_NON_ATOMIC)
  (void)grounds;
  (void)linked;
#endif
  dk_pause();
}

void dk_write(dk_word self, dk_word address, dk_word size, dk_word value, dk_word needs, dk_word decided,
              dk_word grounds, dk_word may_delay) {
  if (may_delay && dk_choose_yes() && dk_write_later(self, address, size, value, needs, decided, grounds, 0)) return;
  dk_write_now(self, address, size, value, needs, decided, grounds, 0);
}

#ifdef DK_NON_ATOMIC
/* What was read last, at once or in this slot, waits for its store-conditional. */
void dk_link_to(dk_word self, dk_word address, dk_word slot) {
  dk_resume();
  dk_link[self] = address;
  dk_link_read[self] = slot == DK_NOWHERE ? 0 : slot + 1;
  dk_link_source[self] = slot == DK_NOWHERE ? dk_last_source[self] : 0;
  if (slot < DK_SLOTS && !(dk_pending >> slot & 1)) __VERIFIER_assume(0);
  dk_pause();
}

void dk_unlink(dk_word self) {
  dk_resume();
  dk_link[self] = 0;
  dk_link_read[self] = 0;
  dk_link_source[self] = 0;
  dk_pause();
}

void dk_write_linked(dk_word self, dk_word address, dk_word size, dk_word value, dk_word needs, dk_word decided,
                     dk_word grounds, dk_word may_delay) {
  if (!(may_delay && dk_choose_yes() && dk_write_later(self, address, size, value, needs, decided, grounds, 1)))
    dk_write_now(self, address, size, value, needs, decided, grounds, 1);
  dk_unlink(self);
}

/* Returns 0 if it succeeds. */
dk_word dk_store_conditional(dk_word self, dk_word address, dk_word size, dk_word value, dk_word needs, dk_word decided,
                             dk_word grounds, dk_word may_delay) {
  if (dk_link[self] == address && dk_choose_yes()) {
    dk_write_linked(self, address, size, value, needs, decided, grounds, may_delay);
    return 0;
  }
  dk_unlink(self);
  return 1;
}
#endif

void dk_fence(dk_word self, dk_word orders) {
  dk_resume();
  dk_word own = dk_pending & DK_OWN_SLOTS(self);
  dk_word reads = own & DK_READ_SLOTS(self), writes = own & ~DK_READ_SLOTS(self);
  if (orders & DK_RR) dk_ahead_of_reads[self] |= reads;
  if (orders & DK_WR) dk_ahead_of_reads[self] |= writes;
  if (orders & DK_RW) dk_ahead_of_writes[self] |= reads;
  if (orders & DK_WW) dk_ahead_of_writes[self] |= writes;
#ifdef DK_NON_ATOMIC
  if (orders & DK_RW) dk_ahead_of_writes[self] |= dk_met[self];
  if (orders == DK_FULL) {
    dk_ahead_of_reads[self] |= dk_met[self];
    dk_strongly[self] |= reads;
  }
#endif
  dk_pause();
}

/* In front of an update that is a fence as well. Returns within a section, in which it is performed. */
void dk_before_update(dk_word self, dk_word address, dk_word size, dk_word needs) {
  dk_approach(address, size, DK_OWN_SLOTS(self) | needs);
  __VERIFIER_assume(!(dk_pending & (DK_OWN_SLOTS(self) | needs)));
#ifdef DK_READS
  __VERIFIER_assume(!(dk_at(address, size) & dk_capped));
#else
  (void)address;
  (void)size;
#endif
}

/* All own accesses have been performed, and what they have taken from others. */
void dk_drain(dk_word self) {
  dk_word own = DK_OWN_SLOTS(self);
#ifdef DK_NON_ATOMIC
  own |= dk_met[self];
#endif
  dk_approach(0, 0, own);
  own = DK_OWN_SLOTS(self);
#ifdef DK_NON_ATOMIC
  own |= dk_met[self];
#endif
  __VERIFIER_assume(!(dk_pending & own));
  dk_pause();
}

/* An object comes to an end: what is still to be written there is lost. */
void dk_discard(dk_word start, dk_word size) {
  dk_begin();
  for (dk_word i = 0; i < DK_SLOTS; ++i)
    if ((dk_pending >> i & 1) && dk_address[i] - start < size) {
      __VERIFIER_assume(!(DK_ALL_READS >> i & 1));
      dk_remove(i);
    }
  dk_end();
}

/* The number of a thread that is started. */
dk_word dk_new_thread(void) {
  dk_begin();
  dk_word number = DK_FIRST_THREADS + dk_started++;
  dk_end();
  return number;
}

/* One of the threads that exist from the start comes to an end; returns whether it is the last. What is delayed must
   have been overtaken, or still be seen by others. */
int dk_leave(dk_word self) {
  dk_resume();
  dk_word left = dk_pending & DK_OWN_SLOTS(self) & ~dk_overtaken;
#ifdef DK_NON_ATOMIC
  for (dk_word i = self * DK_OWN; i < self * DK_OWN + DK_OWN_READS; ++i)
    __VERIFIER_assume(!(left >> i & 1) || (left & ~DK_BIT(i) & ~dk_elder[i]));
#else
  __VERIFIER_assume(!left);
#endif
  int is_last = ++dk_left == DK_FIRST_THREADS;
  dk_end();
  return is_last;
}

/* All accesses have been performed: nothing of what was assumed is open. */
void dk_finish(void) {
  dk_approach(0, 0, ~0ULL);
  __VERIFIER_assume(!dk_pending);
  dk_end();
}

/* All reads have been performed. */
void dk_confirm(void) {
  dk_approach(0, 0, DK_ALL_READS);
  __VERIFIER_assume(!(dk_pending & DK_ALL_READS));
  dk_end();
}
