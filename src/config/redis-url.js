/**
 * `REDIS_URL`: one Redis, several nodes of Redis Cluster, or a master that Redis Sentinel names:
 *
 *   redis://[user:password@]host[:6379][/db]
 *   redis://host:port,redis://host:port
 *   unix:///path/of/its/socket
 *   redis+sentinel://[user:password@]host[:26379][,host…]/name[/db][?sentinel_user=…&sentinel_password=…]
 *
 * `rediss` in place of `redis`: TLS, also to the Sentinels. User and password are those of Redis. Other characters than
 * letters, digits, `-`, `.`, `_` and `~` in them are percent-encoded.
 */

const SENTINEL = /^(rediss?)\+sentinel:\/\/(?:([^@/?#]*)@)?([^@/?#]+)\/([^/?#]+)(?:\/(\d{1,5}))?(?:\?([^#]*))?$/
const SENTINEL_PORT = 26_379
const QUERY = new Set(['sentinel_user', 'sentinel_password'])

/**
 * @typedef {object} SentinelUrl
 * @property {boolean} tls
 * @property {{ host: string, port: number }[]} sentinels
 * @property {string} name of the master
 * @property {string} [username]
 * @property {string} [password]
 * @property {string} [sentinelUsername]
 * @property {string} [sentinelPassword]
 * @property {number} db
 */

/** @param {string} text */
const isSentinelUrl = (text) => /^rediss?\+sentinel:/.test(text)

/**
 * @param {string} text the setting
 * @returns {string[]} its URLs: one, or those of Redis Cluster
 */
export function splitRedisUrls (text) {
  const trimmed = text.trim()
  // its commas separate the Sentinels
  if (isSentinelUrl(trimmed)) return [trimmed]
  return trimmed.split(',').map((url) => url.trim()).filter((url) => url !== '')
}

/** @param {string} url one of them @returns {string | undefined} what is wrong, without a secret */
export function problemOfRedisUrl (url) {
  if (!isEncoded(/^[a-z+]+:\/\/([^/?#]*)@/i.exec(url)?.[1] ?? ''))
    return 'user and password: characters other than letters and digits must be percent-encoded, % as %25'
  if (isSentinelUrl(url))
    return parseSentinelUrl(url) === undefined
      ? 'must be redis+sentinel://host:port,host:port/name-of-the-master, with the path that names it'
      : undefined
  if (socketPathOf(url) !== undefined) return undefined
  const { protocol = '', pathname = '' } = URL.canParse(url) ? new URL(url) : {}
  if (['redis:', 'rediss:'].includes(protocol))
    return /^\/?(?:\d{1,5})?$/.test(pathname) ? undefined : 'must end with the number of its database, as redis://host:6379/1'
  return 'must be a URL that starts with redis:// or rediss://, redis+sentinel:// or rediss+sentinel://, or unix:///path'
}

/** @param {string} userInfo @returns {boolean} */
function isEncoded (userInfo) {
  try {
    decodeURIComponent(userInfo)
    return true
  } catch {
    return false
  }
}

/** @param {string} url @returns {string | undefined} path of the unix socket; undefined: it has none */
export const socketPathOf = (url) => /^unix:\/\/(\/.+)$/.exec(url)?.[1]

/** @param {string} text @returns {SentinelUrl | undefined} undefined: it is not one */
export function parseSentinelUrl (text) {
  const match = SENTINEL.exec(text)
  if (match === null) return undefined
  const [, scheme, userInfo = '', hosts, name, db = '0', query = ''] = match
  const sentinels = hosts.split(',').map(addressOf)
  const parameters = new URLSearchParams(query)
  if (sentinels.includes(undefined) || [...parameters.keys()].some((key) => !QUERY.has(key))) return undefined
  try {
    const [username, password] = userInfo.split(/:(.*)/s).map(decodeURIComponent)
    return {
      tls: scheme === 'rediss',
      sentinels: /** @type {{ host: string, port: number }[]} */ (sentinels),
      name: decodeURIComponent(name),
      db: Number(db),
      ...given({
        username,
        password,
        sentinelUsername: parameters.get('sentinel_user'),
        sentinelPassword: parameters.get('sentinel_password')
      })
    }
  } catch {
    return undefined // wrong percent-encoding
  }
}

/** @param {Record<string, string | null | undefined>} fields @returns {Record<string, string>} those with a text */
const given = (fields) =>
  /** @type {Record<string, string>} */ (Object.fromEntries(Object.entries(fields).filter(([, value]) => value)))

/** @param {string} text @returns {{ host: string, port: number } | undefined} */
function addressOf (text) {
  const [, inBrackets, plain, port = String(SENTINEL_PORT)] =
    /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/i.exec(text.trim()) ?? []
  const host = inBrackets ?? plain
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) }
}

/**
 * @param {readonly string[]} urls
 * @returns {string} where they lead, without users and passwords
 */
export function addressesOf (urls) {
  const sentinel = parseSentinelUrl(urls[0])
  if (sentinel === undefined) return urls.map((url) => socketPathOf(url) ?? new URL(url).host).join(', ')
  const hosts = sentinel.sentinels.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
  return `the master ${sentinel.name} of the Sentinels ${hosts.join(', ')}`
}
