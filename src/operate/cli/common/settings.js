import { launcherContext, loadConfig } from '../../../config/load.js'

/**
 * @typedef {object} GlobalOptions
 * @property {string} [config] path of a file with settings
 */

/**
 * @param {GlobalOptions} options of the program
 * @returns {import('../../../config/load.js').SettingsSource}
 */
export function settingsSource ({ config }) {
  const { configFile, envFile } = launcherContext()
  return { file: config ?? configFile, envFile }
}

/**
 * @param {GlobalOptions} options of the program
 * @returns {import('../../../config/load.js').Config}
 * @throws {import('../../../config/load.js').ConfigError}
 */
export const settingsOf = (options) => loadConfig(settingsSource(options))

/** @param {string} host an address to listen on @returns {string} one to connect to */
export function reachable (host) {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
