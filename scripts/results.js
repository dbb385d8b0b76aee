import { readFileSync } from 'node:fs'

const RESULTS = new URL('../bench/results/', import.meta.url)

/** @param {string} file @returns {string} what it has */
export const resultFile = (file) => readFileSync(new URL(file, RESULTS), 'utf8')

/** @param {string} name of a benchmark @returns {{ base: string, result: any }} its last run */
export const last = (name) => ({ base: name, result: JSON.parse(resultFile(`${name}.json`)) })
