import assert from 'node:assert/strict'
import axe from 'axe-core'

/**
 * @param {import('playwright-core').Page} page
 * @param {object} [options] of axe
 */
export async function passesAxe (page, options = {}) {
  await page.evaluate(axe.source)
  const { violations } = /** @type {any} */ (await page.evaluate(`axe.run(${JSON.stringify(options)})`))
  assert.deepEqual(
    violations.map((/** @type {any} */ { id, nodes }) => [
      id,
      nodes.map((/** @type {any} */ { html, failureSummary }) => [html, failureSummary])
    ]),
    []
  )
}
