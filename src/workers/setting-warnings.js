import { LEASE_TIME } from './worker-lease.js'

/**
 * Settings that are valid and still a mistake in most cases. `inkcast check` and the log of the launcher report them.
 *
 * @typedef {{ text: string, todo: string }} SettingWarning
 */

/**
 * @param {Pick<import('../config/load.js').Config, 'gateway' | 'mode' | 'misspelled'>} config a setting that could not
 *   be read is undefined
 * @returns {SettingWarning[]}
 */
export const settingWarnings = (config) => [
  ...hangWarnings(config),
  ...config.misspelled.map(({ name, meant, source }) => ({
    text: `${name} is no setting`, todo: `did you mean ${meant}? Correct it (${source})`
  }))
]

/**
 * @param {Pick<import('../config/load.js').Config, 'gateway' | 'mode'>} config
 * @returns {SettingWarning[]}
 */
function hangWarnings ({ gateway: { hangTimeout }, mode }) {
  // in embedded mode no worker has a lease
  if (mode === 'embedded' || hangTimeout === undefined || (hangTimeout > 0 && hangTimeout <= LEASE_TIME)) return []
  const ended = `other workers end the sessions of a gateway worker that hangs for ${LEASE_TIME / 1000} s`
  return [{
    text: hangTimeout === 0
      ? `HANG_TIMEOUT=0: ${ended}, and it is never killed`
      : `HANG_TIMEOUT=${hangTimeout} is above ${LEASE_TIME}: ${ended}, and it is killed only later`,
    todo: `set HANG_TIMEOUT to ${LEASE_TIME} or less, and move work that blocks for longer to a worker thread (docs/operations.md, Hung processes)`
  }]
}
