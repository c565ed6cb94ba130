.PHONY: comment deploy image krew systemd

# The image is built by Go alone. PUSH=REGISTRY/REPOSITORY:TAG pushes it.
IMAGE   ?= bin/image
VERSION ?= $(shell git describe --tags --always --dirty)

image: ## build the OCI image, without a container daemon, into IMAGE (bin/image); PUSH=REFERENCE pushes it
	$(step) 'image: $(VERSION)'
	@VERSION=$(VERSION) .ci/release.sh bin/image.release linux/amd64 linux/arm64
	@$(GO) run ./deploy/image -version $(VERSION) -commit $$(git rev-parse HEAD) -o $(IMAGE) $(if $(PUSH),-push $(PUSH)) \
		linux/amd64=bin/image.release/writ_$(VERSION)_linux_amd64 linux/arm64=bin/image.release/writ_$(VERSION)_linux_arm64

# The examples with a proposal and two edits, as a pull request shows their comment.
comment: build ## the comment of a pull request as a picture in docs, rendered by chromium
	@rm -rf bin/comment && mkdir -p bin/comment && cp -r examples/policies bin/comment/a && cp -r examples/policies bin/comment/b
	@cp examples/proposals/shop-admins.yaml bin/comment/b/shop/
	@sed -i 's/resourceNames: \[hammer, shop\]/resourceNames: [hammer, payments, shop]/' bin/comment/b/deny/freeze.yaml
	@sed -i 's/userNames: \[Vera\]/userNames: [Walter]/' bin/comment/b/hammer/project.yaml
	cd bin/comment && ../writ diff a b --point access --fail-on none -o markdown > comment.md
	cd .ci/tools && $(GO) run ./comment < ../../bin/comment/comment.md > ../../bin/comment/comment.html
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,940 --screenshot=docs/comment.png bin/comment/comment.html

# Both tools are built from the Go module proxy, which takes minutes once.
DEPLOY_TOOL := $(GO) tool -modfile=$(CURDIR)/.ci/deploy/go.mod

deploy: build ## check the chart and the alerts of deploy with helm and promtool
	$(step) 'deploy: helm lint and template, promtool check and test'
	@DEPLOY_TOOL='$(DEPLOY_TOOL)' .ci/deploy.sh

# DOWNLOADS is where the archives can be downloaded, PLUGIN a version such as v1.2.3.
DOWNLOADS ?= https://github.com/writ-policy/writ/releases/download/$(PLUGIN)
PLUGIN    ?= v0.0.0

krew: ## build the kubectl plugin PLUGIN and its krew manifest into bin/krew
	$(step) 'krew: $(PLUGIN)'
	@VERSION=$(PLUGIN) .ci/release.sh bin/krew >/dev/null
	@deploy/krew/plugin.sh bin/krew $(DOWNLOADS) $(PLUGIN)

systemd: build ## check the systemd unit, with systemd-analyze of Debian's package systemd
	$(step) 'systemd: systemd-analyze verify and security'
	@.ci/systemd.sh
