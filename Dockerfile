# The base is pinned: the same image for each build. A new one: docker buildx imagetools inspect node:24-bookworm-slim
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# without the workspaces: the server needs neither them nor their dependencies. Without optional packages: npm would install
# TypeScript (30 MB), which valibot names as an optional peer. The only other ones are the demo and the load tool, for development
# (a test checks this).
# No install script of a dependency runs in the build; none is needed
RUN npm ci --omit=dev --omit=optional --workspaces=false --ignore-scripts

FROM ${NODE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED
LABEL org.opencontainers.image.title="inkcast" \
      org.opencontainers.image.description="Real-time document gateway" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="docker.io/library/node:24.21.0-bookworm-slim"
# ADMIN_HOST: probes and Prometheus reach a container over its network address. Do not publish 9100 beyond the machine (docs/deployment.md, Ports)
ENV NODE_ENV=production HOST=0.0.0.0 API_HOST=0.0.0.0 ADMIN_HOST=0.0.0.0
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json cluster.js LICENSE ./
COPY src ./src
COPY client ./client
# the status page shows them
COPY docs ./docs
COPY deploy/image ./deploy/image
COPY examples/document-service ./examples/document-service
# of the document service of the demo; a volume takes its owner from here
RUN mkdir /data && chown node:node /data
USER node
EXPOSE 3000 3001 9100
# the launcher is process 1: it passes SIGTERM on and waits for what drains
STOPSIGNAL SIGTERM
# /live: a container is not restarted because Redis or Kafka is unavailable. Balancers ask /ready.
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=6 \
  CMD ["bash", "deploy/image/health.sh"]
CMD ["node", "cluster.js"]
