/**
 * Checks the URL of a gateway, so that a mistake is reported at once and not as a connection that never comes.
 *
 * @param {unknown} url
 * @throws {TypeError} that says what is expected
 */
export function checkUrl (url) {
  // only a page may leave out the scheme, and nobody the slashes: socket.io-client would guess `https:`
  const full = String(url).replace(/^\/\//, `${/** @type {any} */ (globalThis).location?.protocol}//`)
  let path
  try {
    if (typeof url === 'string' && /^(http|ws)s?:\/\//.test(full)) path = new URL(full).pathname
  } catch {}
  if (path === '/') return
  const wrong = `connect needs the URL of a gateway, such as https://gateway.example.com; got ${JSON.stringify(url)}`
  // Socket.IO would take the path for a namespace
  throw new TypeError(
    path ? `${wrong}. For a path use the option socket: { path: '${path.replace(/\/?$/, '/socket.io/')}' }` : wrong
  )
}
