// An OpenTelemetry Collector of just those parts that deploy/examples/forwarding/opentelemetry-collector.yaml names, and one that
// prints what comes out: tests/forwarding tries that file with it.
package main

import (
	"log"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/transformprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/k8sobjectsreceiver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/receiver"
)

func factories() (otelcol.Factories, error) {
	var all otelcol.Factories
	var err error
	if all.Extensions, err = extension.MakeFactoryMap(); err != nil {
		return all, err
	}
	if all.Receivers, err = receiver.MakeFactoryMap(k8sobjectsreceiver.NewFactory()); err != nil {
		return all, err
	}
	if all.Processors, err = processor.MakeFactoryMap(transformprocessor.NewFactory()); err != nil {
		return all, err
	}
	all.Exporters, err = exporter.MakeFactoryMap(debugexporter.NewFactory(), otlphttpexporter.NewFactory())
	return all, err
}

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Description: "tries an example", Version: "0.111.0"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{
				ProviderFactories: []confmap.ProviderFactory{envprovider.NewFactory(), fileprovider.NewFactory(), yamlprovider.NewFactory()},
			},
		},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
