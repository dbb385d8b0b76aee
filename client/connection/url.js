/**
 * Checks the URL of a gateway, so that a mistake is reported at once and not as a connection that never comes.
 *
 * @param {unknown} url
 * @throws {TypeError} that says what is expected
 */
export function checkUrl (url) {
  // as socket.io-client reads a URL: without a scheme it gets that of the page
  const page = /** @type {any} */ (globalThis).location?.protocol ?? 'https:'
  let path
  try {
    const text = String(url).trim()
    const { protocol, pathname } = new URL(/^\w+:\/\//.test(text) ? text : page + text.replace(/^(\/\/)?/, '//'))
    if (typeof url === 'string' && /^(http|ws)s?:$/.test(protocol)) path = pathname
  } catch {}
  if (path === '/') return
  const wrong = `connect needs the URL of a gateway, such as https://gateway.example.com; got ${JSON.stringify(url)}`
  // Socket.IO would take the path for a namespace
  throw new TypeError(
    path ? `${wrong}. For a path use the option socket: { path: '${path.replace(/\/?$/, '/socket.io/')}' }` : wrong
  )
}
