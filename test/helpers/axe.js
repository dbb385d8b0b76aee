import assert from 'node:assert/strict'
import axe from 'axe-core'

/** Rules about colors, as options of axe: for the dark colors of a page that has passed all rules in the light ones. */
export const COLORS = { runOnly: ['color-contrast', 'link-in-text-block'] }

/**
 * @param {import('playwright-core').Page} page
 * @param {object} [options] of axe
 * @param {object} [part] of the page, as axe's context; default: all of it
 */
export async function passesAxe (page, options = {}, part = undefined) {
  if (!await page.evaluate('"axe" in globalThis')) await page.evaluate(axe.source)
  // half-way through a transition, colors differ from the final ones
  await page.evaluate('Promise.all(document.getAnimations().filter((one) => one instanceof CSSTransition).map(({ finished }) => finished))')
  const { violations } = /** @type {any} */ (await page.evaluate(`axe.run(${part === undefined ? 'document' : JSON.stringify(part)}, ` +
    `${JSON.stringify(options)})`))
  assert.deepEqual(
    violations.map((/** @type {any} */ { id, nodes }) => [
      id,
      nodes.map((/** @type {any} */ { html, failureSummary }) => [html, failureSummary])
    ]),
    []
  )
}
