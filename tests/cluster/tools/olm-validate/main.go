// The validators of operator-framework for an OLM bundle: `make check` runs it on deploy/olm.
//
//	olm-validate FOLDER     prints errors and warnings, and fails if there are any
//
// operator-verify of the same module prints them too, but it runs only some of the validators, and never fails.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
)

// Without those of other formats than bundles, and without the one that fetches the images.
var validators = validator.Validators{
	validation.ClusterServiceVersionValidator,
	validation.CustomResourceDefinitionValidator,
	validation.BundleValidator,
	validation.OperatorHubV2Validator,
	validation.StandardCategoriesValidator,
	validation.StandardCapabilitiesValidator,
	validation.ObjectValidator,
	validation.GoodPracticesValidator,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: olm-validate FOLDER")
		os.Exit(2)
	}
	bundle, err := manifests.GetBundleFromDir(os.Args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s is no bundle: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	found := 0
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, problem := range append(result.Errors, result.Warnings...) {
			// A rule of a role has no version, so any rule about CronJobs, EndpointSlices or Events is reported.
			if strings.Contains(problem.Error(), "ClusterPermissions[0].Rules") && strings.Contains(problem.Error(), "removed in v1.25") {
				continue
			}
			fmt.Fprintf(os.Stderr, "%s: %s\n", result.Name, problem.Error())
			found++
		}
	}
	if found > 0 {
		os.Exit(1)
	}
	fmt.Printf("%s: %d objects are valid\n", bundle.Name, len(bundle.Objects))
}
