package kubernetes

import (
	"slices"
	"time"
)

// Bounds that the checks compare with.
const (
	// maxTimeout is the longest timeout that an API server accepts, longTimeout one whose
	// wait users notice.
	maxTimeout  = 30 * time.Second
	longTimeout = 10 * time.Second
	// longTTL is the longest time for which most policies may be outdated.
	longTTL = time.Minute
)

// examineOrder checks which authorizers stand before writ, and after it.
func (e *examination) examineOrder(list []authorizer, w *authorizer) {
	passed := e.begin("order")
	at := slices.IndexFunc(list, func(each authorizer) bool { return each.at == w.at })
	hasNode, hasNext := false, false
	for i, each := range list {
		switch {
		case each.kind == "AlwaysAllow":
			e.fail(each.at, "remove it", "AlwaysAllow allows what no other authorizer decides")
		case i < at && (each.kind == "RBAC" || each.kind == "ABAC"):
			e.fail(each.at, "move it behind the webhook", "%s stands before writ: writ cannot deny what it allows", each.kind)
		case i < at && each.kind == webhookType:
			e.warn(each.at, "move it behind writ unless that is meant", "webhook %q stands before writ: writ cannot deny what it allows", each.name)
		case i < at && each.kind == "Node":
			hasNode = true
		case i > at:
			hasNext = true
		}
	}
	if !hasNode {
		e.warn(w.at, "put an authorizer of type Node first", "no Node authorizer stands before writ: nodes wait for writ")
	}
	if !hasNext {
		e.warn(w.at, "put an authorizer of type RBAC last", "no authorizer answers where writ has no opinion: roles that API servers make for components do not hold")
	}
	passed(w.at, "writ is asked before other authorizers allow")
}

// examineWebhook checks the settings of the webhook.
func (e *examination) examineWebhook(w *authorizer) {
	passed := e.begin("failure")
	switch w.failure.value {
	case "Deny":
	case "NoOpinion":
		e.fail(w.failure.at, "set failurePolicy: Deny", "while writ does not answer, other authorizers allow what it denies")
	default:
		e.fail(w.failure.at, "set failurePolicy: Deny", "failurePolicy must be Deny or NoOpinion")
	}
	passed(w.failure.at, "requests are denied while writ does not answer")

	passed = e.begin("timeout")
	switch t := w.timeout; {
	case t.value <= 0 || t.value > maxTimeout:
		e.fail(t.at, "set timeout: 3s", "timeout must be more than 0s and at most 30s")
	case t.value > longTimeout:
		e.warn(t.at, "set timeout: 3s", "users wait %s while writ does not answer", t.value)
	case t.value < time.Second:
		e.warn(t.at, "set timeout: 3s", "timeout %s is less than fetching a pod or a reload may take", t.value)
	}
	passed(w.timeout.at, "the API server waits %s", w.timeout.value)

	passed = e.begin("cache")
	if w.cacheAuthorized {
		e.examineTTL("authorizedTTL", w.authorized)
		if e.Pods {
			e.fail(w.authorized.at, "set cacheAuthorizedRequests: false", "an exec that was allowed stays allowed for %s after its pod has changed", w.authorized.value)
		}
	}
	e.examineTTL("unauthorizedTTL", w.denied)
	passed(w.authorized.at, "a decision outlives a change of policy by at most %s", max(w.denied.value, w.authorized.value))

	passed = e.begin("versions")
	if w.review.value != "v1" {
		e.fail(w.review.at, "set subjectAccessReviewVersion: v1", "subjectAccessReviewVersion must be v1, not %q", w.review.value)
	}
	if w.conditionReview.value != "v1" {
		e.fail(w.conditionReview.at, "set matchConditionSubjectAccessReviewVersion: v1", "matchConditionSubjectAccessReviewVersion must be v1, not %q", w.conditionReview.value)
	}
	passed(w.review.at, "reviews are of authorization.k8s.io/v1")
}

func (e *examination) examineTTL(name string, ttl duration) {
	switch {
	case !ttl.isStated:
		e.warn(ttl.at, "set "+name+": 10s", "%s is not set: decisions are kept for %s", name, ttl.value)
	case ttl.value > longTTL:
		e.warn(ttl.at, "set "+name+": 10s", "decisions are kept for %s after a change of policy", ttl.value)
	}
}
