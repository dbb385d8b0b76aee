import { fileScope } from './file-scope.js'
import { startBrowser } from './browser.js'

const scope = fileScope()
/** @type {ReturnType<typeof startBrowser> | undefined} */
let browser

/**
 * One Chromium for all test files of a process, because its start takes seconds of CPU time. A test closes
 * the pages that it opens.
 */
export function sharedBrowser () {
  browser ??= startBrowser(scope)
  return browser
}
