FROM node:24-slim
# ADMIN_HOST: probes and Prometheus reach a container over its network address. Do not publish 9100 beyond the machine (docs/deployment.md, Ports)
ENV NODE_ENV=production HOST=0.0.0.0 API_HOST=0.0.0.0 ADMIN_HOST=0.0.0.0
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# without the workspaces: the server needs neither them nor their dependencies
RUN npm ci --omit=dev --workspaces=false && npm cache clean --force
COPY cluster.js LICENSE ./
COPY src ./src
COPY client ./client
COPY examples/document-service ./examples/document-service
USER node
EXPOSE 3000 3001 9100
# the launcher is process 1: it passes SIGTERM on and waits for what drains
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.ADMIN_PORT || 9100) + '/ready').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "cluster.js"]
