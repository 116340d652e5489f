/* Operators on numbers of a certain width. */

long long dk_signed(dk_word value, int width) {
  dk_word top = 1ULL << (width - 1), cut = width == 64 ? value : value & ((1ULL << width) - 1);
  return (long long)((cut ^ top) - top);
}

dk_word dk_sign_extend(dk_word value, int width) { return (dk_word)dk_signed(value, width); }

dk_word dk_cut(dk_word value, int width) { return width == 64 ? value : value & ((1ULL << width) - 1); }

dk_word dk_udiv(dk_word left, dk_word right, int width) { return right ? dk_cut(left / right, width) : 0; }

dk_word dk_urem(dk_word left, dk_word right, int width) { return right ? dk_cut(left % right, width) : 0; }

dk_word dk_sdiv(dk_word left, dk_word right, int width) {
  long long first = dk_signed(left, width), second = dk_signed(right, width);
  if (!second) return 0;
  return dk_cut(second == -1 ? 0 - (dk_word)first : (dk_word)(first / second), width);
}

dk_word dk_srem(dk_word left, dk_word right, int width) {
  long long first = dk_signed(left, width), second = dk_signed(right, width);
  if (!second || second == -1) return 0;
  return dk_cut((dk_word)(first % second), width);
}

dk_word dk_shl(dk_word left, dk_word right, int width) {
  return right < (dk_word)width ? dk_cut(left << right, width) : 0;
}

dk_word dk_lshr(dk_word left, dk_word right, int width) { return right < (dk_word)width ? left >> right : 0; }

dk_word dk_ashr(dk_word left, dk_word right, int width) {
  dk_word by = right < (dk_word)width ? right : (dk_word)width - 1, value = dk_sign_extend(left, width);
  dk_word filled = value >> 63 && by ? ~(~0ULL >> by) : 0;
  return dk_cut(value >> by | filled, width);
}
