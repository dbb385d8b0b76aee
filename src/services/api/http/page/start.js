// a global of swagger-ui-dist, which has no types
/** @type {any} */ (globalThis).SwaggerUIBundle({
  url: '../openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  // nothing is sent to other servers
  validatorUrl: null
})
