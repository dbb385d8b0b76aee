/** @param {string[]} head @param {string[][]} rows cells may contain `|` @returns {string} a table in Markdown */
export function markdownTable (head, rows) {
  const line = (/** @type {string[]} */ cells) =>
    `| ${cells.map((cell) => cell.replaceAll(/(?<!\\)\|/g, '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
