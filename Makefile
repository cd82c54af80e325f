.DEFAULT_GOAL := help
.PHONY: help check test test-long bench demo cluster clean-cluster binary image sbom release install e2e
CLUSTER := tests/cluster/cluster
TARGET := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
BINARY := target/$(TARGET)/release/shindan

help: ## This list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

check: ## Format, lints, unit and fixture tests, documentation, alerts, chart, OLM bundle, release, workflows, page: two minutes (promtool, Helm, actionlint and olm-validate are built once; needs chromium), no root
	@tests/steps/check

test: ## All that CI runs: make check, and the operator in a real cluster (root; 12 min, and on a clean machine what it takes to build)
	@tests/steps/test

test-long: ## What is too slow for CI (200 kills, soak, versions of Kubernetes, end-to-end tests on an older one, enforced NetworkPolicy, PLEG, oldest Rust, fuzzing, two builds, accuracy), or a part of it: ONLY="soak builds"; writes docs/reports
	@tests/steps/test-long

bench: ## The operator beside bare clients in Rust and Go with 20,000 and 100,000 pods; writes docs/benchmarks.md (root; an hour and a half)
	@tests/steps/bench

demo: ## A real cluster with ten field reports' failures, and their diagnoses (root; demo/README.md)
	@demo/demo

cluster: ## Start the cluster, if it does not run
	@$(CLUSTER) prerequisites --install
	@$(CLUSTER) up

clean-cluster: ## Remove the cluster and everything that it made
	@$(CLUSTER) down

binary: ## Build the static binary of the image, and print its path
	@deploy/image/binary

image: ## Make the image without Docker, in target/image, and print its digest
	@deploy/image/binary >/dev/null
	@rm -rf target/image && deploy/image/image $(BINARY) target/image

sbom: ## Write the bill of materials of the binary (cargo-cyclonedx is built once)
	@deploy/image/sbom target/shindan.cdx.json

release: ## Make all files of a release, in target/dist (docs/releasing.md); deploy/release/release makes some
	@deploy/release/release

install: cluster binary ## Install the operator, as it is now, in the cluster
	@tests/cluster/install $(BINARY)

e2e: ## Run the end-to-end tests against the cluster as it is; TEST=name runs some of them
	@cargo test --locked --features e2e --test e2e --no-run
	@$(CLUSTER) build --crds
	@$(CLUSTER) exec cargo test --locked --offline --features e2e --test e2e -- --test-threads=64 $(TEST)
