import { parser } from '@prometheus-io/lezer-promql'

/**
 * @typedef {object} Selector the series that an expression reads
 * @property {string} name of the metric, with the suffix of its series (`_bucket`, `_total`)
 * @property {[label: string, operator: string, value: string][]} matchers
 * @property {boolean} rated whether `rate` or `increase` is applied to it
 * @property {string[][]} groupings labels of each aggregation around it, innermost first
 */

const OF_COUNTERS = ['Rate', 'Increase', 'Irate']

/**
 * @param {string} text PromQL; variables of Grafana's have been replaced
 * @returns {{ selectors: Selector[], kept: string[] }} kept: labels of the result, as far as they are named
 * @throws {Error} if it is no PromQL
 */
export function readExpression (text) {
  const tree = parser.parse(text)
  /** @type {Selector[]} */
  const selectors = []
  const slice = (/** @type {{ from: number, to: number }} */ { from, to }) => text.slice(from, to)
  tree.iterate({
    enter ({ node }) {
      if (node.type.isError) throw new Error(`no PromQL at ${node.from}: ${text}`)
      if (node.name !== 'VectorSelector') return
      const name = node.getChild('Identifier')
      if (name === null) throw new Error(`a selector without a name: ${text}`)
      const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []
      /** @type {string[][]} */
      const groupings = []
      let rated = false
      for (let up = node.parent; up !== null; up = up.parent) {
        if (up.name === 'FunctionCall' && OF_COUNTERS.includes(up.getChild('FunctionIdentifier')?.firstChild?.name ?? ''))
          rated = true
        if (up.name === 'AggregateExpr') groupings.push(labelsOf(up))
      }
      selectors.push({
        name: slice(name),
        matchers: matchers.map((matcher) => {
          const [label, operator, value] = ['LabelName', 'MatchOp', 'StringLiteral'].map((part) => matcher.getChild(part))
          if (!label || !operator || !value) throw new Error(`a matcher without a part: ${text}`)
          return [slice(label), slice(operator), JSON.parse(slice(value))]
        }),
        rated,
        groupings
      })
    }
  })
  if (selectors.length === 0) throw new Error(`reads nothing: ${text}`)
  const outermost = selectors.flatMap(({ groupings }) => groupings.at(-1) ?? [])
  return { selectors, kept: [...new Set(outermost)] }

  /** @param {import('@lezer/common').SyntaxNode} aggregate */
  function labelsOf (aggregate) {
    const modifier = aggregate.getChild('AggregateModifier')
    if (modifier?.getChild('Without')) throw new Error(`"without" is not checked: ${text}`)
    return (modifier?.getChild('GroupingLabels')?.getChildren('LabelName') ?? []).map(slice)
  }
}
