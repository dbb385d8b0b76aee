/** The beginning of all names in Redis, without REDIS_PREFIX. */
export const DEFAULT_PREFIX = 'inkcast'

/** @param {string} text @returns {string | undefined} what is wrong, with the remedy; undefined: nothing */
export function problemOfRedisPrefix (text) {
  if (/[{}]/.test(text)) {
    return 'must have no { and no }: Redis Cluster finds the node of a key by the text between them, and keys that belong together ' +
      'would be on several nodes'
  }
  // * ? [ ] \ have a meaning in patterns of channels and in permissions
  if (!/^[\w.-]+(?::[\w.-]+)*$/.test(text))
    return 'must be letters, digits, and - _ . with single colons between them, as shop or shop:eu (inkcast adds the last colon)'
  return text.length > 64 ? 'must have at most 64 characters: each key begins with it' : undefined
}

/**
 * @param {{ redis: { prefix: string }, extensions: { channelPrefix: string, emitterKey?: string } }} settings
 * @returns {string[]} problems: names that other applications on the same Redis may use as well
 */
export function prefixProblems ({ redis: { prefix }, extensions: { channelPrefix, emitterKey } }) {
  if (prefix === undefined || prefix === DEFAULT_PREFIX) return []
  return Object.entries({ ROOMS_CHANNEL_PREFIX: channelPrefix, EMITTER_KEY: emitterKey })
    .filter(([, name]) => name !== undefined && !name.startsWith(`${prefix}:`))
    .map(([setting, name]) => `${setting}=${name}: must begin with ${prefix}: as all channels with REDIS_PREFIX=${prefix}, or other ` +
      'applications on this Redis would get the messages')
}
