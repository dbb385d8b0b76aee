/**
 * The target of a request, which a client chooses. `new URL` takes `//x/y` for the host `x` and throws for `//`.
 *
 * @param {{ url?: string }} req
 * @returns {{ path: string, query: URLSearchParams } | null} null: neither a path nor a URL (RFC 9112, 3.2)
 */
export function targetOf ({ url = '' }) {
  if (!url.startsWith('/')) {
    if (!URL.canParse(url)) return null
    const { protocol, pathname, searchParams } = new URL(url)
    return protocol === 'http:' || protocol === 'https:' ? { path: pathname, query: searchParams } : null
  }
  const [target] = url.split('#', 1)
  const at = target.indexOf('?')
  return at === -1
    ? { path: target, query: new URLSearchParams() }
    : { path: target.slice(0, at), query: new URLSearchParams(target.slice(at + 1)) }
}
