.PHONY: cluster control-plane e2e-kubernetes e2e-static

# The programs are built once, into bin/e2e, which takes minutes; go build knows when that is
# out of date. kube-apiserver reports its version, which clients check.
KUBERNETES := $(shell sed -n 's/^.k8s.io\/kubernetes \(v[0-9.]*\)$$/\1/p' tests/e2e/go.mod)
E2E        := $(CURDIR)/bin/e2e

control-plane:
	$(step) 'etcd, kube-apiserver and kubectl $(KUBERNETES), from the Go module proxy'
	@mkdir -p $(E2E)
	@for program in etcd:./etcd cluster:./cluster kubectl:k8s.io/kubernetes/cmd/kubectl kube-apiserver:k8s.io/kubernetes/cmd/kube-apiserver; do \
		(cd tests/e2e && GO='$(GO)' ../../.ci/build.sh $(E2E)/$${program%%:*} $${program#*:} \
			-ldflags '-X k8s.io/component-base/version.gitVersion=$(KUBERNETES)') || exit 1; done

# CLUSTER is emptied before each start.
CLUSTER ?= $(CURDIR)/bin/cluster

cluster: build control-plane ## run etcd and kube-apiserver to try writ with, until Ctrl-C; print KUBECONFIG
	$(step) 'cluster: Kubernetes $(KUBERNETES)'
	@exec $(E2E)/cluster -bin $(E2E) -dir $(abspath $(CLUSTER))

e2e-kubernetes: build control-plane ## test a cluster as a source and writ as an authorizer with a real API server
	@rm -rf bin/e2e/charts && mkdir bin/e2e/charts
	@for values in deploy/helm/values/*.yaml; do $(DEPLOY_TOOL) helm template writ deploy/helm/writ --kube-version 1.36.0 \
		--values $$values >bin/e2e/charts/$$(basename $$values) || exit 1; done
	$(step) 'e2e-kubernetes: tests'
	@cd tests/e2e && $(GO) vet ./... && $(GO) test -count=1 -timeout 30m -v . -bin $(E2E) -charts $(E2E)/charts -writ $(CURDIR)/bin/writ

# The API server of the next version of Kubernetes reads static admission manifests.
NEXT     := $(shell sed -n 's/^require k8s.io\/kubernetes \(v[0-9.]*\)$$/\1/p' tests/e2e/next/go.mod)
E2E_NEXT := $(CURDIR)/bin/e2e-next

e2e-static: build control-plane ## test static admission manifests with the API server of Kubernetes 1.37
	$(step) 'kube-apiserver $(NEXT), from the Go module proxy'
	@mkdir -p $(E2E_NEXT)
	@cd tests/e2e/next && GO='$(GO)' ../../../.ci/build.sh $(E2E_NEXT)/kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver \
		-ldflags '-X k8s.io/component-base/version.gitVersion=$(NEXT)'
	@ln -sf $(E2E)/etcd $(E2E)/kubectl $(E2E_NEXT)/
	$(step) 'e2e-static: tests'
	@cd tests/e2e && $(GO) test -count=1 -timeout 10m -v -run 'TestStaticAdmission' . -bin $(E2E_NEXT) -writ $(CURDIR)/bin/writ
