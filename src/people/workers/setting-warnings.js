import { uncheckedLibraries } from '../../config/library-versions.js'

/**
 * Settings that are valid and still a mistake in most cases, and variables that look like misspelled settings.
 * `inkcast check` and the log of the launcher report them.
 *
 * @typedef {{ text: string, todo: string }} SettingWarning
 */

/**
 * @param {Pick<import('../../config/load.js').Config, 'admin' | 'misspelled'>} config
 * @param {(name: string) => string} [versionOf] installed version of a package
 * @returns {SettingWarning[]}
 */
export function settingWarnings ({ admin, misspelled }, versionOf) {
  const unchecked = admin.libraryVersions === 'any' ? uncheckedLibraries(versionOf) : null
  return [
    ...(unchecked === null ? [] : [{ text: `LIBRARY_VERSIONS=any: ${unchecked.problem}`, todo: unchecked.remedy }]),
    ...misspelled.map(({ name, meant, source }) => ({
      text: `${name} is no setting`, todo: `did you mean ${meant}? Correct it (${source})`
    }))
  ]
}
