/**
 * @param {{ get: () => Promise<{ values: import('prom-client').MetricValue<string>[] }> }} counter
 * @returns {Promise<Record<string, number>>} its series above 0, by the values of their labels with a space between
 */
export async function countedBy (counter) {
  const { values } = await counter.get()
  return Object.fromEntries(values.filter(({ value }) => value > 0)
    // prom-client adds the role when metrics are collected
    .map(({ labels: { role: _, ...labels }, value }) => [Object.values(labels).join(' '), value]))
}
