// What the client package imports as socket.io-client when there is no bundler; src/gateway/demo.js serves it as /client/io.js.
// With ?codec=msgpack the page speaks msgpack, which is another build of the same library.
const msgpack = new URLSearchParams(globalThis.location?.search).get('codec') === 'msgpack'
if (msgpack) await import('/client-dist/socket.io.msgpack.min.js')

/** @type {any} */
export const io = msgpack ? globalThis.io : (await import('/client-dist/socket.io.esm.min.js')).io
