import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { action, CommandError, print } from './common/terminal.js'
import { settingsOf } from './common/settings.js'
import { seconds } from './common/values.js'

/** @param {import('commander').Command} program */
export function addToken (program) {
  program
    .command('token')
    .description('print a JWT for development, signed with AUTH_JWT_SECRET or a private key')
    .argument('[user]', 'user id (`sub`); default: your name on this machine')
    .option('-d, --document <grant>', 'a grant of the claim `documents`, as guid, guid:read or prefix*; may be repeated. Default: no ' +
    'claim, so the token is not limited to documents', append)
    .option('--name <name>', 'the claim `name`')
    .option('--tier <tier>', 'the claim `tier` (NETWORK)')
    .option('--ttl <time>', 'how long the token is valid: 90s, 15m, 8h, 7d; a number alone is seconds', seconds, 8 * 3600)
    .option('--key <file>', 'PEM private key that belongs to AUTH_JWKS_URL')
    .option('--kid <id>', 'key id in the header, with --key')
    .addHelpText('after', `
Examples:
  inkcast token
  inkcast token ada --document minutes --document 'plan-*:read' --ttl 1h
  TOKEN=$(inkcast token ada) node examples/node/follow.js minutes
  inkcast token ada --key private.pem --kid 2026-11`)
    .action(action(async (user, options, command) => {
      print(await signToken(user ?? userInfo().username, options, settingsOf(command.optsWithGlobals()).auth))
    }))
}

/** @param {string} value @param {string[]} [before] */
const append = (value, before = []) => [...before, value]

/**
 * @param {string} user
 * @param {{ document?: string[], name?: string, tier?: string, ttl?: number, key?: string, kid?: string }} options
 *   ttl: s
 * @param {import('../../config/load.js').Config['auth']} settings
 * @returns {Promise<string>}
 * @throws {CommandError} there is no key
 */
export async function signToken (user, { document, name, tier, ttl = 300, key, kid }, settings) {
  const { signClaims } = await import('../../people/auth/sign-token.js')
  const claims = {
    sub: user,
    ...(name === undefined ? {} : { name }),
    ...(tier === undefined ? {} : { tier }),
    ...(document === undefined ? {} : { documents: document.map(grantOf) })
  }
  try {
    return signClaims(claims, settings, { key: keyOf(settings, key), ttl, kid })
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`the token cannot be signed: ${error instanceof Error ? error.message : error}`)
  }
}

/** @param {import('../../config/load.js').Config['auth']} settings @param {string | undefined} file */
function keyOf ({ secret, keys }, file) {
  if (file !== undefined) {
    try {
      return readFileSync(file)
    } catch (error) {
      throw new CommandError(`--key ${file}: ${error instanceof Error ? error.message : error}`)
    }
  }
  if (secret !== undefined) return secret
  throw new CommandError(keys
    ? `AUTH_JWKS_URL only verifies tokens: give the private key with --key FILE, or ask its issuer for a token`
    : 'there is no key to sign with: set AUTH_JWT_SECRET (openssl rand -hex 32), for inkcast as well. Without a key inkcast lets ' +
      'everybody in, in development')
}

/** @param {string} text `guid`, `guid:read` or `guid:write` */
function grantOf (text) {
  const [, guid, access = 'write'] = /** @type {RegExpExecArray} */ (/^(.*?)(?::(read|write))?$/s.exec(text))
  return { guid, access }
}
