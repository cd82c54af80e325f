# One static binary, nothing else: no shell, no libraries, no user database. deploy/image/image makes the same without Docker,
# byte by byte the same each time.
FROM rust:1.89-slim-bookworm AS build
# The commit, for the metric build_info: docker build --build-arg SHINDAN_REVISION="$(git rev-parse HEAD)"
ARG SHINDAN_REVISION
WORKDIR /src
COPY Cargo.toml Cargo.lock askama.toml build.rs ./
COPY catalog catalog
COPY core core
COPY src src
COPY deploy/image/binary deploy/image/binary
RUN install -D -m 0755 "$(deploy/image/binary)" /out/shindan

FROM scratch
LABEL org.opencontainers.image.title="shindan" \
      org.opencontainers.image.description="Finds out why Kubernetes workloads fail, and reports it in the cluster" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.documentation="https://github.com/shindan-dev/shindan/blob/main/docs/README.md" \
      org.opencontainers.image.source="https://github.com/shindan-dev/shindan"
COPY --from=build /out/shindan /shindan
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/shindan"]
CMD ["run"]
