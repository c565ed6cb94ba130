package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Environment variables that this package reads. The SDK reads the others.
const (
	disabledName       = "OTEL_SDK_DISABLED"
	exporterName       = "OTEL_TRACES_EXPORTER"
	endpointName       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointName = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolName       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocolName = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	supportedProtocol  = "http/protobuf"
)

// readEnvironment reports whether the environment enables traces. It returns an error if
// the exporter or protocol is not supported or the endpoint is invalid: the SDK would send
// to an endpoint of its own choice.
func readEnvironment() (isEnabled bool, err error) {
	exporter := os.Getenv(exporterName)
	endpoint := cmp.Or(os.Getenv(tracesEndpointName), os.Getenv(endpointName))
	switch {
	case strings.EqualFold(os.Getenv(disabledName), "true"), exporter == "none":
		return false, nil
	case exporter == "" && endpoint == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf(`%s must be "otlp" or "none", not %q`, exporterName, exporter)
	}
	if protocol := cmp.Or(os.Getenv(tracesProtocolName), os.Getenv(protocolName), supportedProtocol); protocol != supportedProtocol {
		return false, fmt.Errorf("%s must be %q, not %q", protocolName, supportedProtocol, protocol)
	}
	u, err := url.Parse(endpoint)
	if endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		// The error does not quote the endpoint, which may contain a password.
		return false, errors.New("the OTLP endpoint of traces must be a URL such as http://127.0.0.1:4318")
	}
	return true, nil
}

// loggingExporter logs when exports start to fail and when they succeed again.
type loggingExporter struct {
	sdktrace.SpanExporter
	log *slog.Logger

	mu        sync.Mutex // held to read and write isFailing
	isFailing bool
}

// ExportSpans always returns nil, because it logs the error itself.
func (e *loggingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil && !e.isFailing:
		e.log.Warn("export of traces failed: spans are dropped", "error", err)
	case err == nil && e.isFailing:
		e.log.Info("export of traces works again")
	}
	e.isFailing = err != nil
	return nil
}
