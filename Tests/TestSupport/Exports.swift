// What nearly every test uses comes with TestSupport.
@_exported public import Foundation
@_exported public import IndicatorCore
@_exported public import IndicatorTesting
@_exported public import Logging
@_exported public import Testing
