/** Not the class URL, which is incomplete in React Native. Port and path are groups. */
const URL_OF_A_GATEWAY = /^(?:http|ws)s?:\/\/(?:[^/?#@]*@)?(?:\[[\da-f:.]+\]|[^/?#:@[\]\s]+)(?::(\d{1,5}))?(\/[^?#]*)?([?#].*)?$/

/**
 * Checks the URL of a gateway, so that a mistake is reported at once and not as a connection that never comes.
 *
 * @param {unknown} url
 * @throws {TypeError} that says what is expected
 */
export function checkUrl (url) {
  // only a page may leave out the scheme, and nobody the slashes: socket.io-client would guess `https:`
  const full = String(url).replace(/^\/\//, `${/** @type {any} */ (globalThis).location?.protocol}//`)
  const [isUrl, port = '', path = '/'] = (typeof url === 'string' && URL_OF_A_GATEWAY.exec(full)) || []
  if (isUrl && Number(port) < 65_536 && path === '/') return
  // Socket.IO would take the path for a namespace
  const hint =
    path === '/' ? '' : `. For a path use the option socket: { path: '${path.replace(/\/?$/, '/socket.io/')}' }`
  throw new TypeError(
    `connect needs the URL of a gateway, such as https://example.com; got ${JSON.stringify(url)}${hint}`
  )
}
