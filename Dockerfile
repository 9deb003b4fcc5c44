# Two targets: `embedded` (the default) carries its own engine; `server` needs CLICKHOUSE_URL and is about 550 MB
# smaller. Both run as an unprivileged user and keep everything they write in /data.

FROM node:24-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY schema ./schema
COPY src ./src
COPY web ./web
RUN npm run build

FROM node:24-trixie-slim AS modules
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Of the front end, the one binary that this image loads is kept: the others are 380 MB.
RUN npm ci --omit=dev \
  && find node_modules/uwebsockets node_modules/uWebSockets.js -name 'uws_*.node' \
    ! -name "uws_linux_$(node -p process.arch)_$(node -p process.versions.modules).node" -delete

FROM node:24-trixie-slim AS modules-server
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional \
  && find node_modules/uwebsockets node_modules/uWebSockets.js -name 'uws_*.node' \
    ! -name "uws_linux_$(node -p process.arch)_$(node -p process.versions.modules).node" -delete

FROM node:24-trixie-slim AS base
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
WORKDIR /app
RUN mkdir --mode=0700 /data && chown node:node /data
COPY package.json LICENSE ./
COPY schema ./schema
COPY --from=build /app/dist ./dist
USER node
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "require(process.env.TLS_CERT ? 'node:https' : 'node:http').get({ host: '127.0.0.1', port: process.env.PORT, path: '/healthz', rejectUnauthorized: false }, (r) => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["node", "dist/cli.js"]
CMD ["serve"]

FROM base AS server
COPY --from=modules-server /app/node_modules ./node_modules

FROM base AS embedded
COPY --from=modules /app/node_modules ./node_modules
