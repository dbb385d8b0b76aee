/** Orders: what they say happens to connections. @type {ReadonlySet<string>} */
export const ORDER_OPERATORS = new Set(['kick', 'revoke', 'restore', 'close', 'join', 'leave'])
/** Apart from the rest of publications: the launcher counts by them, and reads no value. @type {ReadonlySet<string>} */
export const OPERATORS = new Set(['broadcast', 'user', 'device', 'socket', 'everyone', ...ORDER_OPERATORS])
