/**
 * The part of the table of metrics that is about tenants (TENANTS). Only those of the setting have series.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const TENANT_METRICS = Object.freeze({
  tenant_connections: {
    type: 'gauge',
    labels: ['tenant'],
    help: 'Connections of clients of a tenant.',
    worry: 'Near its budget in `TENANTS`: further clients are refused.'
  },
  tenant_admitted: {
    type: 'counter',
    labels: ['tenant', 'budget'],
    help: 'Connections, events of clients, and publications of callers that a tenant had, by `budget`.',
    worry: 'The rate is near the budget in `TENANTS`.'
  },
  tenant_refused: {
    type: 'counter',
    labels: ['tenant', 'budget'],
    help: 'Connections, events and publications that were refused because all processes together had used the budget.',
    worry: 'Rising: the tenant needs a larger budget, or floods.'
  }
})
