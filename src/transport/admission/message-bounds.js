/**
 * Bounds of one message of a client, the same at every door.
 */

/** Protects the stack of the decoder; handlers allow less. */
export const MAX_DEPTH = 1000

/**
 * Values in a msgpack message of an admitted client, with keys: this many empty ArrayBuffers take 0.15 s until clients
 * of both codecs have received them, no longer than a megabyte of JSON.
 */
export const MAX_MSGPACK_VALUES = 50_000

/** Decoding is measured from this size on, bytes: smaller messages cost no more than the measurement. */
export const LARGE = 1024

/**
 * The depth of JSON is checked before decoding from this length on, characters: a megabyte of brackets takes 100 MB.
 * The depth of shorter text is checked by handlers.
 */
export const DEEP_FROM = 16_384

const [EARLY_VALUES, EARLY_VALUES_PER_DOCUMENT] = [1000, 20]

/** @param {number} maxDocuments that a handshake may name @returns {number} values in a message before admission */
export const earlyValuesFor = (maxDocuments) => EARLY_VALUES + EARLY_VALUES_PER_DOCUMENT * maxDocuments
