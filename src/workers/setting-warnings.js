/**
 * Variables that look like misspelled settings. `inkcast check` and the log of the launcher report them.
 *
 * @typedef {{ text: string, todo: string }} SettingWarning
 */

/**
 * @param {Pick<import('../config/load.js').Config, 'misspelled'>} config
 * @returns {SettingWarning[]}
 */
export const settingWarnings = ({ misspelled }) => misspelled.map(({ name, meant, source }) => ({
  text: `${name} is no setting`, todo: `did you mean ${meant}? Correct it (${source})`
}))
