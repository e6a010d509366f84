/* A data file of ICU without items, as ICU's own "stub data": the programs need none, and it is half of their size.
   DATA is the name of the symbol; the fields are those of `UDataInfo` in ICU's udata.h. */
const struct {
    unsigned short headerSize;
    unsigned char magic[2];
    unsigned short size, reserved;
    unsigned char isBigEndian, charset, charSize, reserved2, format[4], formatVersion[4], dataVersion[4];
    unsigned int count;
} DATA __attribute__((aligned(16))) = {
    24, {0xda, 0x27}, 20, 0, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, 0, 2, 0, {'C', 'm', 'n', 'D'}, {1}, {0}, 0,
};
