/**
 * The findings as text: each with its reason and the command that sets it, and for sysctls the file that keeps them
 * over a restart.
 *
 * @param {readonly import('./kernel-limits.js').Finding[]} findings
 * @returns {string} ends with a newline
 */
export function report (findings) {
  if (findings.length === 0) return 'Nothing to change on this machine.\n'
  const lines = findings.flatMap(({ name, now, wanted, why, set }) => [
    `${name} is ${now}, should be ${wanted}`,
    `    why   ${why}`,
    `    set   ${set}`,
    ''
  ])
  const sysctls = findings.flatMap(({ set }) => /^sysctl -w ([^=]+)=(.*)$/.exec(set)?.slice(1).join(' = ') ?? [])
  if (sysctls.length > 0) {
    lines.push(
      'To keep it over a restart, write /etc/sysctl.d/60-inkcast.conf and run sysctl --system:',
      '',
      ...sysctls.map((line) => line.replaceAll('\'', '')),
      ''
    )
  }
  lines.push(`${findings.length} to change.`, '')
  return lines.join('\n')
}
