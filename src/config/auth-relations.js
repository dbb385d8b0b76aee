/**
 * The parts of the config object that are checked here.
 *
 * @typedef {{ secret?: string, keys?: object, allowAnonymous?: boolean, connectUrl?: string,
 *   connectHeaders?: readonly string[], cookie?: string }} AuthSettings
 */

/**
 * @param {AuthSettings} auth
 * @param {boolean} production
 * @returns {boolean} the default of AUTH_ALLOW_ANONYMOUS
 */
export const anonymousByDefault = ({ secret, keys, connectUrl }, production) =>
  !production && !secret && !keys && !connectUrl

/**
 * Checks relations between settings of authentication. A setting that could not be read is undefined here and already
 * reported.
 *
 * @param {object} config
 * @param {boolean} config.production
 * @param {{ allowedOrigins?: readonly string[] }} config.gateway
 * @param {AuthSettings} config.auth
 * @returns {string[]} problems
 */
export function authProblems ({ production, gateway, auth }) {
  const problems = []
  const { secret, keys, allowAnonymous, connectUrl, connectHeaders = [], cookie } = auth
  if (secret && keys) problems.push('AUTH_JWT_SECRET, AUTH_JWKS_URL: set one of them')
  if (!secret && !keys && !connectUrl && (production ? !allowAnonymous : allowAnonymous === false)) {
    problems.push(
      'AUTH_JWT_SECRET: set it or AUTH_JWKS_URL; no client could connect otherwise (or allow it with AUTH_ALLOW_ANONYMOUS=true)'
    )
  }
  if (connectUrl && allowAnonymous) {
    problems.push(
      'AUTH_ALLOW_ANONYMOUS: has no meaning with AUTH_CONNECT_URL, which decides about clients without a token; remove it, and let your ' +
      'application answer a uid for guests'
    )
  }
  if (cookie && !secret && !keys)
    problems.push('AUTH_COOKIE: needs AUTH_JWT_SECRET or AUTH_JWKS_URL, which check the JWT in the cookie')
  const byCookie = cookie ? 'AUTH_COOKIE' : connectUrl && connectHeaders.includes('cookie') && 'AUTH_CONNECT_URL'
  if (production && byCookie && gateway.allowedOrigins?.includes('*')) {
    problems.push(
      `ALLOWED_ORIGINS=*: not with ${byCookie} in production, because the pages of any site could use the login of their visitors; name ` +
      'the origins of your pages'
    )
  }
  return problems
}

/**
 * The same for the tokens of callers and administrators.
 *
 * @param {object} config
 * @param {boolean} config.production
 * @param {{ tokens?: readonly string[], callersFile?: string }} config.api
 * @param {{ token?: string, readToken?: string }} config.admin
 * @returns {string[]} problems, without a token
 */
export function tokenProblems ({ production, api: { tokens, callersFile }, admin: { token, readToken } }) {
  const problems = []
  if (production && tokens?.length === 0 && callersFile === undefined)
    problems.push('API_TOKENS: required in production, as name:token,… (or API_CALLERS_FILE)')
  if (tokens !== undefined) problems.push(...callerProblems(tokens))
  if (token !== undefined && token === readToken)
    problems.push('ADMIN_READ_TOKEN: must differ from ADMIN_TOKEN, or everyone who reads can also change')
  return problems
}

/** @param {readonly string[]} entries `name:token` @returns {string[]} */
function callerProblems (entries) {
  const callers = entries.map((entry) => entry.split(/:(.*)/s))
  if (callers.some(([name, token = '']) => !/^[A-Za-z0-9._-]{1,64}$/.test(name) || token.length < 16))
    return ['API_TOKENS: each must be name:token, the token with at least 16 characters']
  return callers.flatMap(([name, token], index) => {
    const [owner = name] = callers.slice(0, index).find(([, other]) => other === token) ?? []
    return owner === name ? [] : [`API_TOKENS: ${owner} and ${name} have the same token; give each its own`]
  })
}
